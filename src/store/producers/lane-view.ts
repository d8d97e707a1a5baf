/**
 * Another thread's lane as the store's thread sees it: its durable blocks, one after the other, read in place from the
 * shared ring. Gives readers a memtable of them, and the flush the fillings that have ended. It relies on the ring
 * alone, so it finds all that is durable also when the producer's thread has died.
 */
import { assert } from '../../base/assert.ts';
import { MillraceError } from '../../errors/millrace-error.ts';
import { type Followed, Memtable } from '../../memtable/memtable.ts';
import { FRAME_KIND } from '../../record/frame-format.ts';
import { type FrameHeader, walkFrames } from '../../record/frame-reader.ts';
import { BLOCK_HEADER_BYTES, blockBytes, payloadBytesAt } from '../../ring/block-format.ts';
import { FIRST_BLOCK_POSITION, logPosition, type RingGeometry, slotBase, slotIndexOf } from '../../ring/geometry.ts';
import { LaneWords, NOT_ENDED, RECYCLED } from '../../ring/lane-words.ts';
import type { LaneStart, SealedSlot } from '../../ring/producer.ts';

export interface LaneViewObserver {
  /** A frame is durable; it lies at `at`. */
  frame(header: FrameHeader, view: DataView, at: number): void;
  /** A filling has ended, and all of it is durable. */
  ended(slot: SealedSlot): void;
}

export class LaneView {
  readonly memtable: Memtable;
  readonly words: LaneWords;
  readonly #geometry: RingGeometry;
  readonly #view: DataView;
  readonly #observer: LaneViewObserver;
  #slotSequence: number;
  #position: number = FIRST_BLOCK_POSITION;
  #nextBlock: number;

  constructor(
    ring: SharedArrayBuffer,
    geometry: RingGeometry,
    start: LaneStart,
    followed: Followed,
    observer: LaneViewObserver,
  ) {
    this.memtable = new Memtable(ring, geometry, followed);
    this.words = new LaneWords(ring);
    this.#geometry = geometry;
    this.#view = new DataView(ring);
    this.#observer = observer;
    this.#slotSequence = start.slotSequence;
    this.#nextBlock = start.blockSequence;
  }

  /** Log position up to which everything was seen. */
  get durableEnd(): number {
    return logPosition(this.#slotSequence, this.#position);
  }

  /** One past the last block that was seen. */
  get nextBlock(): number {
    return this.#nextBlock;
  }

  /** The filling that the next block is in. */
  get slotSequence(): number {
    return this.#slotSequence;
  }

  /** Whether that filling holds blocks. */
  get isFilling(): boolean {
    return this.#position > FIRST_BLOCK_POSITION;
  }

  /** Whether every block that the producer has closed was seen. */
  get caughtUp(): boolean {
    return this.words.closedBlocks(this.#nextBlock) === this.#nextBlock;
  }

  /** Takes in what has become durable. */
  look(): void {
    const durable = this.words.durableBlocks(this.#nextBlock);
    for (;;) {
      const end = this.words.slotEnd(slotIndexOf(this.#geometry, this.#slotSequence), this.#slotSequence);
      assert(end !== RECYCLED, 'a slot is recycled only after it was released here');
      if (end !== NOT_ENDED && this.#position >= end) this.#nextFilling();
      else if (this.#nextBlock === durable) return;
      else this.#takeBlock();
    }
  }

  /** Ends the filling in the place of a producer that is gone. Everything it has closed was seen. */
  endFilling(): void {
    assert(this.caughtUp, 'a filling ends behind its last block');
    if (!this.isFilling) return;
    const sequence = this.#slotSequence;
    this.words.publishSlotEnd(slotIndexOf(this.#geometry, sequence), sequence, this.#position);
    this.look();
  }

  #takeBlock(): void {
    const at = slotBase(this.#geometry, this.#slotSequence) + this.#position;
    const payloadBytes = payloadBytesAt(this.#view, at);
    const from = at + BLOCK_HEADER_BYTES;
    walkFrames(this.#view, from, from + payloadBytes, unreadable, (header, frameAt) => {
      if (header.kind === FRAME_KIND.records) {
        const position = this.#position + (frameAt - at);
        this.memtable.add(header.streamId, header.firstOffset, logPosition(this.#slotSequence, position));
      }
      this.#observer.frame(header, this.#view, frameAt);
    });
    this.#position += blockBytes(payloadBytes);
    this.#nextBlock += 1;
  }

  #nextFilling(): void {
    const ended = { slotSequence: this.#slotSequence, endPosition: this.#position, lastBlock: this.#nextBlock - 1 };
    this.#slotSequence += 1;
    this.#position = FIRST_BLOCK_POSITION;
    this.#observer.ended(ended);
  }
}

function unreadable(problem: string, at: number): MillraceError {
  return new MillraceError('ERR_MILLRACE_WAL_CORRUPT', `a producer's ring: ${problem} at ${at}: this is a bug`);
}
