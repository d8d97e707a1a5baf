/**
 * The producer's side of a ring: hands out space in the open block, closes blocks, and moves from slot to slot. Runs on
 * the one thread that owns the lane and knows nothing of what the bytes mean.
 *
 * A filling of a slot is free again only when `release` says so; until then the ring is full and `reserve` answers -1.
 */
import { assert } from '../base/assert.ts';
import { alignUp, PAGE_BYTES } from '../base/bytes.ts';
import { BLOCK_BYTES_TARGET } from '../limits/limits.ts';
import { BLOCK_HEADER_BYTES, writeBlockHeader } from './block-format.ts';
import type { Doorbell } from './doorbell.ts';
import { FIRST_BLOCK_POSITION, logPosition, type RingGeometry, slotBase, slotIndexOf } from './geometry.ts';
import { LaneWords } from './lane-words.ts';

/** Where a lane goes on: after recovery, or 0 and 0 in a new store. */
export interface LaneStart {
  readonly slotSequence: number;
  readonly blockSequence: number;
}

export interface LaneIdentity {
  readonly lane: number;
  readonly storeId: Uint8Array;
}

/** Told of each step of a producer, inside the call that takes it. */
export interface ProducerObserver {
  /** The open block is about to close: the last moment to write into it. */
  closing(): void;
  /** A block was published. `nextBlock` is one past its sequence, `logEnd` the log position one past its bytes. */
  closed(nextBlock: number, logEnd: number): void;
  /** A filling ended. */
  sealed(slot: SealedSlot): void;
}

/** A filling that takes no more blocks. */
export interface SealedSlot {
  readonly slotSequence: number;
  /** End of its last block, as a position in the slot. */
  readonly endPosition: number;
  /** Sequence of its last block. */
  readonly lastBlock: number;
}

const NO_BLOCK = -1;

export class RingProducer {
  readonly geometry: RingGeometry;
  /** The whole ring. Positions handed out index it. */
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly words: LaneWords;

  readonly #identity: LaneIdentity;
  readonly #doorbell: Pick<Doorbell, 'ring'>;
  readonly #observer: ProducerObserver;
  /** Fillings up to this one are free. */
  #released: number;
  #slotSequence: number;
  /** Whether the current slot has been opened; otherwise its memory may still hold an unreleased filling. */
  #slotOpen = false;
  #base = 0;
  #slotLimit = 0;
  #blockSequence: number;
  #blockStart = NO_BLOCK;
  /** Next free byte, as an index into the ring. */
  #position = 0;
  /** End of the space the open block may grow into. */
  #blockLimit = 0;

  constructor(
    ring: SharedArrayBuffer,
    geometry: RingGeometry,
    identity: LaneIdentity,
    start: LaneStart,
    released: number,
    doorbell: Pick<Doorbell, 'ring'>,
    observer: ProducerObserver,
  ) {
    this.geometry = geometry;
    this.bytes = new Uint8Array(ring);
    this.view = new DataView(ring);
    this.words = new LaneWords(ring);
    this.#identity = identity;
    this.#doorbell = doorbell;
    this.#observer = observer;
    this.#slotSequence = start.slotSequence;
    this.#blockSequence = start.blockSequence;
    this.#released = released;
    assert(released < start.slotSequence, 'a lane starts behind what is released');
  }

  /** Sequence of the block that is open, or would be opened next. */
  get blockSequence(): number {
    return this.#blockSequence;
  }

  get slotSequence(): number {
    return this.#slotSequence;
  }

  /** Whether a block is open and holds at least one byte. */
  get hasOpenBlock(): boolean {
    return this.#blockStart !== NO_BLOCK;
  }

  /** Bytes used in the current filling. */
  get slotUsedBytes(): number {
    return this.#slotOpen ? this.#position - this.#base : 0;
  }

  /** Fillings that are not free: the current one included, once open. */
  get slotsInUse(): number {
    return this.#slotSequence - this.#released - (this.#slotOpen ? 0 : 1);
  }

  /** Bytes that fit the open block right where it ends. */
  get room(): number {
    return this.#blockLimit - this.#position;
  }

  /** Whether `bytes` more fit the open block right where it ends. */
  fits(bytes: number): boolean {
    return this.#position + bytes <= this.#blockLimit;
  }

  /**
   * Finds room for `bytes` (a multiple of 8) in one block and returns its index in the ring; -1 when the ring is full.
   * Closes the open block, and seals the slot, when they have no room. The space is taken by `advance`.
   */
  reserve(bytes: number): number {
    if (this.fits(bytes)) return this.#position;
    this.closeBlock();
    const needed = BLOCK_HEADER_BYTES + bytes;
    assert(FIRST_BLOCK_POSITION + needed <= this.geometry.slotBytes, 'no block of the ring is that large');
    if (this.#slotOpen && this.#position + needed > this.#slotLimit) this.sealSlot();
    if (!this.#slotOpen && !this.#openSlot()) return -1;
    this.#blockStart = this.#position;
    this.#position += BLOCK_HEADER_BYTES;
    this.#blockLimit = Math.min(this.#blockStart + Math.max(BLOCK_BYTES_TARGET, needed), this.#slotLimit);
    return this.#position;
  }

  /** Takes the space up to `end`, which lies in what `reserve` or `fits` granted. */
  advance(end: number): void {
    assert(end >= this.#position && end <= this.#blockLimit, 'space was not reserved');
    this.#position = end;
  }

  /** Log position of an index handed out for the current filling. */
  logPositionOf(index: number): number {
    return logPosition(this.#slotSequence, index - this.#base);
  }

  /** Log position one past the last closed or open byte. */
  get logEnd(): number {
    return logPosition(this.#slotSequence, this.#slotOpen ? this.#position - this.#base : 0);
  }

  /** Publishes the open block to the WAL worker. Returns whether there was one. */
  closeBlock(): boolean {
    if (this.#blockStart === NO_BLOCK) return false;
    this.#observer.closing();
    const start = this.#blockStart;
    const payloadBytes = this.#position - start - BLOCK_HEADER_BYTES;
    this.#blockStart = NO_BLOCK;
    this.#blockLimit = 0;
    if (payloadBytes === 0) {
      this.#position = start;
      return false;
    }
    writeBlockHeader(this.view, start, {
      lane: this.#identity.lane,
      storeId: this.#identity.storeId,
      slotSequence: this.#slotSequence,
      blockSequence: this.#blockSequence,
      position: start - this.#base,
      payloadBytes,
    });
    this.#position = this.#base + alignUp(this.#position - this.#base, PAGE_BYTES);
    assert(this.#position <= this.#slotLimit, 'a block ends inside its slot');
    this.#blockSequence += 1;
    this.words.publishClosed(this.#blockSequence);
    this.#doorbell.ring();
    this.#observer.closed(this.#blockSequence, this.logEnd);
    return true;
  }

  /** Ends the current filling; `undefined` when it holds nothing. The next `reserve` opens another. */
  sealSlot(): SealedSlot | undefined {
    this.closeBlock();
    if (!this.#slotOpen || this.#position === this.#base + FIRST_BLOCK_POSITION) return undefined;
    const sealed = {
      slotSequence: this.#slotSequence,
      endPosition: this.#position - this.#base,
      lastBlock: this.#blockSequence - 1,
    };
    const slotIndex = slotIndexOf(this.geometry, this.#slotSequence);
    this.words.publishSlotEnd(slotIndex, this.#slotSequence, sealed.endPosition);
    this.#doorbell.ring();
    this.#slotOpen = false;
    this.#slotSequence += 1;
    this.#observer.sealed(sealed);
    return sealed;
  }

  /** Frees a filling and all older ones: their records are safe elsewhere. */
  release(slotSequence: number): void {
    assert(slotSequence > this.#released, 'slots are released in order');
    assert(slotSequence < this.#slotSequence, 'only sealed slots are released');
    this.#released = slotSequence;
  }

  #openSlot(): boolean {
    if (this.#slotSequence - this.geometry.slots > this.#released) return false;
    this.#base = slotBase(this.geometry, this.#slotSequence);
    this.#slotLimit = this.#base + this.geometry.slotBytes;
    this.#position = this.#base + FIRST_BLOCK_POSITION;
    this.#slotOpen = true;
    return true;
  }
}
