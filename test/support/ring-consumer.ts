/** The reading side of a ring as a WAL worker has it, without a disk: blocks in order, wherever their slots lie. */
import { BLOCK_HEADER_BYTES, blockBytes, type BlockHeader, readBlockHeader } from '../../src/ring/block-format.ts';
import { FIRST_BLOCK_POSITION, type RingGeometry, slotBase, slotIndexOf } from '../../src/ring/geometry.ts';
import { LaneWords, NOT_ENDED } from '../../src/ring/lane-words.ts';
import type { LaneStart } from '../../src/ring/producer.ts';

export interface TakenBlock {
  readonly header: BlockHeader;
  /** A view of the ring. */
  readonly payload: Uint8Array;
}

export class RingConsumer {
  readonly words: LaneWords;
  readonly #ring: SharedArrayBuffer;
  readonly #geometry: RingGeometry;
  #slotSequence: number;
  #position: number = FIRST_BLOCK_POSITION;
  #nextBlock: number;

  constructor(ring: SharedArrayBuffer, geometry: RingGeometry, start: LaneStart) {
    this.words = new LaneWords(ring);
    this.#ring = ring;
    this.#geometry = geometry;
    this.#slotSequence = start.slotSequence;
    this.#nextBlock = start.blockSequence;
  }

  get nextBlock(): number {
    return this.#nextBlock;
  }

  /** The next closed block; `undefined` when there is none. */
  take(): TakenBlock | undefined {
    if (this.words.closedBlocks(this.#nextBlock) === this.#nextBlock) return undefined;
    const end = this.words.slotEnd(slotIndexOf(this.#geometry, this.#slotSequence), this.#slotSequence);
    if (end !== NOT_ENDED && this.#position >= end) {
      this.#slotSequence += 1;
      this.#position = FIRST_BLOCK_POSITION;
    }
    const at = slotBase(this.#geometry, this.#slotSequence) + this.#position;
    const header = readBlockHeader(new DataView(this.#ring), at);
    const payload = new Uint8Array(this.#ring, at + BLOCK_HEADER_BYTES, header.payloadBytes);
    this.#position += blockBytes(header.payloadBytes);
    this.#nextBlock += 1;
    return { header, payload };
  }
}
