/**
 * The memtable of a lane: per stream an index of the frames that are in the ring and in no segment yet. The bytes exist
 * once, in the ring. Owned and written by the thread that owns the lane; it outlives every slot, and flushed entries
 * are deleted from it.
 */
import { ringPosition, type RingGeometry, SLOT_SPAN } from '../ring/geometry.ts';
import { frameTimestamps, readFrameHeader } from '../record/frame-reader.ts';
import { StreamIndex } from './stream-index.ts';

export class Memtable {
  readonly #geometry: RingGeometry;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #streams = new Map<number, StreamIndex>();
  /** Streams with frames in each filling, so that dropping one touches no other stream. */
  readonly #slots = new Map<number, Set<number>>();

  constructor(ring: SharedArrayBuffer, geometry: RingGeometry) {
    this.#geometry = geometry;
    this.#bytes = new Uint8Array(ring);
    this.#view = new DataView(ring);
  }

  /** Streams with unflushed frames. */
  get streamCount(): number {
    return this.#streams.size;
  }

  /** Adds a frame that was just started at log position `position`. */
  add(streamId: number, firstOffset: number, position: number): void {
    let index = this.#streams.get(streamId);
    if (index === undefined) {
      index = new StreamIndex();
      this.#streams.set(streamId, index);
    }
    index.add(firstOffset, position);
    const slotSequence = Math.floor(position / SLOT_SPAN);
    let members = this.#slots.get(slotSequence);
    if (members === undefined) {
      members = new Set();
      this.#slots.set(slotSequence, members);
    }
    members.add(streamId);
  }

  /** The filling is in a segment: forgets its frames, and those of any older one. */
  dropThrough(slotSequence: number): void {
    for (const [sequence, members] of this.#slots) {
      if (sequence > slotSequence) continue;
      for (const streamId of members) {
        const index = this.#streams.get(streamId);
        index?.dropThrough(slotSequence);
        if (index?.length === 0) this.#streams.delete(streamId);
      }
      this.#slots.delete(sequence);
    }
  }

  /** Forgets a deleted stream. */
  dropStream(streamId: number): void {
    this.#streams.delete(streamId);
  }

  /** First offset that the memtable holds of the stream; `undefined` when it holds none. */
  firstOffset(streamId: number): number | undefined {
    const index = this.#streams.get(streamId);
    return index === undefined || index.length === 0 ? undefined : index.firstOffset(0);
  }

  /**
   * One past the last offset of the stream that lies before `durableEnd`, a log position; `undefined` when none does.
   */
  durableNextOffset(streamId: number, durableEnd: number): number | undefined {
    const index = this.#streams.get(streamId);
    if (index === undefined) return undefined;
    const count = index.countBefore(durableEnd);
    if (count === 0) return undefined;
    const header = readFrameHeader(this.#view, ringPosition(this.#geometry, index.position(count - 1)));
    return header.firstOffset + header.offsetSpan;
  }

  /** User records and bytes of the stream in frames before `durableEnd`. */
  totals(streamId: number, durableEnd: number): { records: number; userBytes: number } {
    const index = this.#streams.get(streamId);
    const totals = { records: 0, userBytes: 0 };
    const durable = index?.countBefore(durableEnd) ?? 0;
    for (let frame = 0; index !== undefined && frame < durable; frame += 1) {
      const header = readFrameHeader(this.#view, ringPosition(this.#geometry, index.position(frame)));
      totals.records += header.recordCount;
      totals.userBytes += header.userBytes;
    }
    return totals;
  }

  /**
   * Copies durable frames of the stream, from the one that holds `offset` on, at least one and then up to `maxBytes`.
   * `undefined` when no durable frame reaches `offset`. A copy, because the slot is reused once it is flushed.
   */
  read(streamId: number, offset: number, durableEnd: number, maxBytes: number): Uint8Array | undefined {
    const index = this.#streams.get(streamId);
    if (index === undefined) return undefined;
    const durable = index.countBefore(durableEnd);
    const first = Math.max(0, index.floor(offset));
    const places: { start: number; bytes: number }[] = [];
    let total = 0;
    for (let frame = first; frame < durable; frame += 1) {
      const start = ringPosition(this.#geometry, index.position(frame));
      const header = readFrameHeader(this.#view, start);
      if (header.firstOffset + header.offsetSpan <= offset) continue;
      if (total > 0 && total + header.frameBytes > maxBytes) break;
      places.push({ start, bytes: header.frameBytes });
      total += header.frameBytes;
    }
    if (total === 0) return undefined;
    const copy = new Uint8Array(total);
    let at = 0;
    for (const { start, bytes } of places) {
      copy.set(this.#bytes.subarray(start, start + bytes), at);
      at += bytes;
    }
    return copy;
  }

  /**
   * First offset of the first durable frame that may hold a record at or after `timestamp`: frames are searched in
   * order, since timestamps set by callers need not be.
   */
  findTimestamp(streamId: number, timestamp: number, durableEnd: number): number | undefined {
    const index = this.#streams.get(streamId);
    if (index === undefined) return undefined;
    const durable = index.countBefore(durableEnd);
    for (let frame = 0; frame < durable; frame += 1) {
      const start = ringPosition(this.#geometry, index.position(frame));
      const header = readFrameHeader(this.#view, start);
      const times = frameTimestamps(this.#view, start, header);
      if (times !== undefined && times.last >= timestamp) return header.firstOffset;
    }
    return undefined;
  }
}
