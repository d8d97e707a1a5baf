/**
 * Salvage: opening a log with damaged blocks. Acknowledged offsets must never be given out again, so what is missing
 * becomes `lost` frames: they cover the offsets and hold no record. They are written into the ring, over the damaged
 * block, and only there: the file stays as it is, and the flush carries them into a segment like any frame.
 */
import { assert } from '../base/assert.ts';
import { BLOCK_HEADER_BYTES, writeBlockHeader } from '../ring/block-format.ts';
import { type RingGeometry, slotBase } from '../ring/geometry.ts';
import type { SealedSlot } from '../ring/producer.ts';
import { FRAME_HEADER_BYTES, FRAME_KIND } from '../record/frame-format.ts';
import { type FrameHeader, readFrameHeader } from '../record/frame-reader.ts';
import { finishFrame, FrameMemory } from '../record/frame-writer.ts';
import type { Damage } from './log-walk.ts';
import type { FoundBlock } from './scan.ts';

/** Offsets of a stream that a salvage could not read. */
export interface LostRange {
  readonly streamId: number;
  readonly firstOffset: number;
  readonly nextOffset: number;
}

export interface SalvageContext {
  readonly lane: number;
  readonly storeId: Uint8Array;
  readonly geometry: RingGeometry;
}

/** The damaged bytes between two intact blocks, being filled with `lost` frames. */
interface Region {
  readonly damage: Damage;
  readonly start: number;
  readonly end: number;
  position: number;
}

export class Salvage {
  readonly lost: LostRange[] = [];
  /** Regions that became blocks of lost frames. */
  readonly covered: SealedSlot[] = [];
  readonly #memory: FrameMemory;
  readonly #context: SalvageContext;
  readonly #damages: Damage[];
  #region: Region | undefined;

  constructor(view: DataView, context: SalvageContext, damages: readonly Damage[]) {
    this.#memory = new FrameMemory(view.buffer);
    this.#context = context;
    this.#damages = [...damages];
  }

  /** Called for each intact block in order: opens the damaged region in front of it, if there is one. */
  reach(block: FoundBlock): void {
    const [damage] = this.#damages;
    if (damage === undefined || damage.blockSequence >= block.blockSequence) return;
    this.finish();
    this.#damages.shift();
    const base = slotBase(this.#context.geometry, damage.slotSequence);
    const end = base + (damage.resumesAt?.position ?? this.#context.geometry.slotBytes);
    const start = base + damage.position;
    this.#region = { damage, start, end, position: start + BLOCK_HEADER_BYTES };
  }

  /**
   * Covers [`from`, `to`) of a stream. There is room: each lost frame takes the place of at least one damaged frame.
   */
  cover(streamId: number, from: number, to: number): { header: FrameHeader; slotSequence: number; at: number } {
    const region = this.#region;
    assert(region !== undefined, 'a gap lies behind a damaged block');
    assert(region.position + FRAME_HEADER_BYTES <= region.end, 'lost frames fit where frames were');
    const at = region.position;
    region.position = this.#writeLost(at, at + FRAME_HEADER_BYTES, streamId, from, to - from);
    this.lost.push({ streamId, firstOffset: from, nextOffset: to });
    return { header: readFrameHeader(this.#memory.view, at), slotSequence: region.damage.slotSequence, at };
  }

  /** Ends the open region: a filler and a block header make it a block that a walk can pass. */
  finish(): void {
    const region = this.#region;
    if (region === undefined) return;
    this.#region = undefined;
    if (region.position < region.end) this.#writeLost(region.position, region.end, 0, 0, 0);
    writeBlockHeader(this.#memory.view, region.start, {
      lane: this.#context.lane,
      storeId: this.#context.storeId,
      slotSequence: region.damage.slotSequence,
      blockSequence: region.damage.blockSequence,
      position: region.start - slotBase(this.#context.geometry, region.damage.slotSequence),
      payloadBytes: region.end - region.start - BLOCK_HEADER_BYTES,
    });
    this.covered.push({
      slotSequence: region.damage.slotSequence,
      endPosition: region.end - slotBase(this.#context.geometry, region.damage.slotSequence),
      lastBlock: region.damage.blockSequence,
    });
  }

  #writeLost(at: number, end: number, streamId: number, firstOffset: number, offsetSpan: number): number {
    return finishFrame(this.#memory, at, end, {
      streamId,
      firstOffset,
      timestamp: 0,
      recordCount: 0,
      offsetSpan,
      epoch: 0,
      userBytes: 0,
      kind: FRAME_KIND.lost,
      flags: 0,
      extensionBytes: 0,
    });
  }
}
