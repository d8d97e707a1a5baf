/**
 * Salvage: opening a log with damaged blocks. Acknowledged offsets must never be given out again, so what is missing
 * becomes `lost` frames: they cover the offsets and hold no record. A truncation that is missing shows in a stream that
 * goes on below its end under a higher epoch: a truncation to there takes its place. Both are written into the ring,
 * over the damaged block, and only there: the file stays as it is, and the flush carries them into a segment like any
 * frame.
 */
import { BLOCK_HEADER_BYTES, writeBlockHeader } from '../ring/block-format.ts';
import { type RingGeometry, slotBase } from '../ring/geometry.ts';
import type { SealedSlot } from '../ring/producer.ts';
import { FRAME_BYTES_MIN, FRAME_KIND, type FrameKind } from '../record/frame-format.ts';
import { type FrameHeader, readFrameHeader } from '../record/frame-reader.ts';
import { finishFrame, FrameMemory } from '../record/frame-writer.ts';
import type { Damage } from './log-walk.ts';
import type { FoundBlock } from './scan.ts';

/** What a frame says that a salvage writes. */
type Substitute = Pick<FrameHeader, 'streamId' | 'firstOffset' | 'offsetSpan' | 'epoch'> & { readonly kind: FrameKind };

/** Filler frames belong to no stream. */
const FILLER: Substitute = { streamId: 0, firstOffset: 0, offsetSpan: 0, epoch: 0, kind: FRAME_KIND.lost };

/** Offsets of a stream that a salvage could not read. */
export interface LostRange {
  readonly streamId: number;
  readonly firstOffset: number;
  readonly nextOffset: number;
}

/**
 * A stream whose truncation a salvage could not read: it goes on at `nextOffset`. Where it was cut is not known:
 * records right below may be older ones, which the truncation had cut and lost records had replaced.
 */
export interface LostTruncation {
  readonly streamId: number;
  readonly nextOffset: number;
}

export interface SalvageContext {
  readonly lane: number;
  readonly storeId: Uint8Array;
  readonly geometry: RingGeometry;
}

/** Damaged bytes that are being filled with frames. */
interface Region {
  readonly damage: Damage;
  /** Where the slot begins in the ring. */
  readonly base: number;
  readonly start: number;
  readonly end: number;
  position: number;
}

/** A frame that a salvage wrote, as recovery hands it on. */
export interface SalvagedFrame {
  readonly header: FrameHeader;
  readonly slotSequence: number;
  readonly at: number;
}

export class Salvage {
  readonly lost: LostRange[] = [];
  readonly lostTruncations: LostTruncation[] = [];
  readonly #memory: FrameMemory;
  readonly #context: SalvageContext;
  readonly #damages: readonly Damage[];
  /** One for each damage that lies behind the walk, in log order. */
  readonly #regions: Region[] = [];
  /** By stream, how many regions lay behind the walk at its last frame: what is lost later was not in those. */
  readonly #passed = new Map<number, number>();

  constructor(ring: SharedArrayBuffer, context: SalvageContext, damages: readonly Damage[]) {
    this.#memory = new FrameMemory(ring);
    this.#context = context;
    this.#damages = damages;
  }

  /** Called for each intact block in order: makes the damage in front of it, if there is one, a region to fill. */
  reach(block: FoundBlock): void {
    const damage = this.#damages[this.#regions.length];
    if (damage === undefined || damage.blockSequence >= block.blockSequence) return;
    const { geometry } = this.#context;
    const base = slotBase(geometry, damage.slotSequence);
    const start = base + damage.position;
    const end = base + (damage.resumesAt ?? geometry.slotBytes);
    this.#regions.push({ damage, base, start, end, position: start + BLOCK_HEADER_BYTES });
  }

  /** Called for each intact frame. */
  pass(streamId: number): void {
    if (this.#regions.length > 0) this.#passed.set(streamId, this.#regions.length);
  }

  /**
   * Covers the offsets [`from`, `to`) of a stream under its epoch there; `undefined` when there is no room. A lost
   * frame is smaller than the smallest frame with a record, so there is room unless the log lacks more than its damaged
   * places could hold. A lower epoch would make the flush come too late where nothing else of the stream is in the
   * filling.
   */
  cover(streamId: number, from: number, to: number, epoch: number): SalvagedFrame | undefined {
    const offsetSpan = to - from;
    const frame = this.#place({ streamId, firstOffset: from, offsetSpan, epoch, kind: FRAME_KIND.lost });
    if (frame !== undefined) this.lost.push({ streamId, firstOffset: from, nextOffset: to });
    return frame;
  }

  /** Lets a stream go on at `nextOffset`, below its end, under a higher epoch; `undefined` when there is no room. */
  rewind(streamId: number, nextOffset: number, epoch: number): SalvagedFrame | undefined {
    const kind = FRAME_KIND.truncation;
    const frame = this.#place({ streamId, firstOffset: nextOffset, offsetSpan: 0, epoch, kind });
    if (frame !== undefined) this.lostTruncations.push({ streamId, nextOffset });
    return frame;
  }

  #place(substitute: Substitute): SalvagedFrame | undefined {
    const candidates = this.#regions.slice(this.#passed.get(substitute.streamId) ?? 0);
    // The filler behind the last lost frame needs a header too.
    const region = candidates.find(({ position, end }) => position + 2 * FRAME_BYTES_MIN <= end);
    if (region === undefined) return undefined;
    const at = region.position;
    region.position = this.#write(at, at + FRAME_BYTES_MIN, substitute);
    return { header: readFrameHeader(this.#memory.view, at), slotSequence: region.damage.slotSequence, at };
  }

  /** Makes each region one block that a walk can pass, and returns where those end. */
  finish(): SealedSlot[] {
    return this.#regions.filter(({ start, end }) => start < end).map((region) => this.#finishRegion(region));
  }

  #finishRegion({ damage, base, start, end, position }: Region): SealedSlot {
    this.#write(position, end, FILLER);
    const { slotSequence, blockSequence, resumesWith } = damage;
    writeBlockHeader(this.#memory.view, start, {
      lane: this.#context.lane,
      storeId: this.#context.storeId,
      slotSequence,
      blockSequence,
      position: start - base,
      payloadBytes: end - start - BLOCK_HEADER_BYTES,
    });
    return { slotSequence, endPosition: end - base, lastBlock: resumesWith - 1 };
  }

  #write(at: number, end: number, substitute: Substitute): number {
    return finishFrame(this.#memory, at, end, {
      ...substitute,
      timestamp: 0,
      recordCount: 0,
      userBytes: 0,
      flags: 0,
      extensionBytes: 0,
    });
  }
}
