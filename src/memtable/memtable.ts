/**
 * The memtable of a lane: per stream an index of the frames that are in the ring and in no segment yet. The bytes exist
 * once, in the ring. Owned and written by the thread that owns the lane; it outlives every slot, and flushed entries
 * are deleted from it.
 */
import { ringPosition, type RingGeometry, SLOT_SPAN } from '../ring/geometry.ts';
import { viewOf } from '../base/bytes.ts';
import { cutFrame } from '../record/frame-cut.ts';
import { frameTimestamps, readFrameHeader } from '../record/frame-reader.ts';
import { StreamIndex } from './stream-index.ts';

/** Streams whose new frames somebody waits for. */
export interface Followed {
  readonly size: number;
  has(streamId: number): boolean;
}

const NOBODY: Followed = new Set<number>();

export class Memtable {
  readonly #geometry: RingGeometry;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #streams = new Map<number, StreamIndex>();
  /** Those with frames in each filling, so that dropping one touches no other stream. */
  readonly #slots = new Map<number, StreamIndex[]>();
  /** Streams with a truncation that is in no segment yet, and the filling of their last. */
  readonly #truncated = new Map<number, number>();
  readonly #followed: Followed;
  /** Of followed streams, the first frame that nobody was told to be durable: its log position. */
  readonly #untold = new Map<number, number>();

  constructor(ring: SharedArrayBuffer, geometry: RingGeometry, followed: Followed = NOBODY) {
    this.#followed = followed;
    this.#geometry = geometry;
    this.#bytes = new Uint8Array(ring);
    this.#view = new DataView(ring);
  }

  /** Streams with unflushed frames. */
  get streamCount(): number {
    return this.#streams.size;
  }

  /** Adds a frame with offsets that was just started at log position `position`. */
  add(streamId: number, firstOffset: number, position: number): void {
    let index = this.#streams.get(streamId);
    if (index === undefined) {
      index = new StreamIndex(streamId);
      this.#streams.set(streamId, index);
    }
    index.add(firstOffset, position);
    const slotSequence = slotOf(position);
    if (index.latestSlot !== slotSequence) this.#enlist(index, slotSequence);
    if (this.#followed.size === 0 || this.#untold.has(streamId) || !this.#followed.has(streamId)) return;
    this.#untold.set(streamId, position);
  }

  /** Somebody follows the stream from now on, and has seen what lies before `durableEnd`. */
  follow(streamId: number, durableEnd: number): void {
    const index = this.#streams.get(streamId);
    if (index === undefined || this.#untold.has(streamId) || !this.#followed.has(streamId)) return;
    const durable = index.countBefore(durableEnd);
    if (durable < index.length) this.#untold.set(streamId, index.position(durable));
  }

  /** Followed streams that have durable frames since they were told last. */
  takeDurable(durableEnd: number): number[] {
    const taken: number[] = [];
    for (const [streamId, position] of this.#untold) {
      if (position >= durableEnd) continue;
      this.#untold.delete(streamId);
      taken.push(streamId);
      // Behind the durable ones there may be more by now, and no later frame would tell of them.
      this.follow(streamId, durableEnd);
    }
    return taken;
  }

  /** The stream goes on at `nextOffset`; the frame that says so lies at `position`. */
  truncate(streamId: number, nextOffset: number, position: number): void {
    this.#streams.get(streamId)?.truncate(nextOffset);
    this.#truncated.set(streamId, slotOf(position));
  }

  /** Whether the stream, or any, has a truncation that is in no segment yet. */
  hasTruncations(streamId?: number): boolean {
    return streamId === undefined ? this.#truncated.size > 0 : this.#truncated.has(streamId);
  }

  #enlist(index: StreamIndex, slotSequence: number): void {
    index.latestSlot = slotSequence;
    const members = this.#slots.get(slotSequence);
    if (members === undefined) this.#slots.set(slotSequence, [index]);
    else members.push(index);
  }

  /** The filling is in a segment: forgets its frames, and those of any older one. */
  dropThrough(slotSequence: number): void {
    for (const [sequence, members] of this.#slots) {
      if (sequence > slotSequence) continue;
      for (const index of members) {
        index.dropThrough(slotSequence);
        if (index.length > 0) continue;
        // One that a truncation emptied may have been replaced since, while a later filling still lists it.
        if (this.#streams.get(index.streamId) === index) this.#streams.delete(index.streamId);
      }
      this.#slots.delete(sequence);
    }
    for (const [streamId, last] of this.#truncated) if (last <= slotSequence) this.#truncated.delete(streamId);
  }

  /** Forgets a deleted stream. */
  dropStream(streamId: number): void {
    this.#streams.delete(streamId);
    this.#truncated.delete(streamId);
    this.#untold.delete(streamId);
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
    return Math.min(header.firstOffset + header.offsetSpan, index.cutAt(count - 1));
  }

  /**
   * User records and bytes of the stream in frames before `durableEnd`, without those that segments hold: what lies
   * below their end in an epoch that they know.
   */
  totals(
    streamId: number,
    stored: { readonly nextOffset: number; readonly epoch: number },
    durableEnd: number,
  ): { records: number; userBytes: number } {
    const index = this.#streams.get(streamId);
    const totals = { records: 0, userBytes: 0 };
    const durable = index?.countBefore(durableEnd) ?? 0;
    for (let frame = 0; index !== undefined && frame < durable; frame += 1) {
      const copy = this.#frame(index, frame);
      const header = readFrameHeader(copy.view, copy.at);
      if (header.epoch <= stored.epoch && header.firstOffset < stored.nextOffset) continue;
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
    const frames: Uint8Array[] = [];
    let total = 0;
    for (let frame = Math.max(0, index.floor(offset)); frame < durable; frame += 1) {
      const { bytes, view, at } = this.#frame(index, frame);
      const header = readFrameHeader(view, at);
      if (header.firstOffset + header.offsetSpan <= offset) continue;
      if (total > 0 && total + header.frameBytes > maxBytes) break;
      frames.push(bytes.subarray(at, at + header.frameBytes));
      total += header.frameBytes;
    }
    if (total === 0) return undefined;
    const copy = new Uint8Array(total);
    let at = 0;
    for (const frame of frames) {
      copy.set(frame, at);
      at += frame.length;
    }
    return copy;
  }

  /** Where a frame's bytes are: in the ring, or in a copy that ends where a truncation cut it. */
  #frame(index: StreamIndex, frame: number): { bytes: Uint8Array; view: DataView; at: number } {
    const at = ringPosition(this.#geometry, index.position(frame));
    const cut = index.cutAt(frame);
    if (cut === Infinity) return { bytes: this.#bytes, view: this.#view, at };
    const bytes = cutFrame(this.#bytes, at, cut);
    return { bytes, view: viewOf(bytes), at: 0 };
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

function slotOf(position: number): number {
  return Math.floor(position / SLOT_SPAN);
}
