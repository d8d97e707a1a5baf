/** Bugs of the ring and of what its threads share: who may write where, and who sees what when. */
import { type PlantedBug, test } from '../bug.ts';

const PRODUCER = 'src/ring/producer.ts';
const WORDS = 'src/ring/lane-words.ts';

export const RING_BUGS: readonly PlantedBug[] = [
  {
    name: 'off by one at the wrap of the ring',
    file: PRODUCER,
    source: `if (this.#slotSequence - this.geometry.slots > this.#released) return false;`,
    replacement: `if (this.#slotSequence - this.geometry.slots - 1 > this.#released) return false;`,
    breaks: 'a slot is overwritten only after its records are in segments',
    caughtBy: test('ring/producer', 'is full until the oldest filling is released, and loses nothing meanwhile'),
  },
  {
    name: 'block published before its header',
    file: PRODUCER,
    source: `    writeBlockHeader(this.view, start, {
      lane: this.#identity.lane,`,
    replacement: `    this.words.publishClosed(this.#blockSequence + 1);
    writeBlockHeader(this.view, start, {
      lane: this.#identity.lane,`,
    breaks: 'the WAL worker sees a block only when all of it is there',
    caughtBy: test('ring/interleavings', 'agree on one block and the end'),
  },
  {
    name: 'plain store where an atomic one is needed',
    file: WORDS,
    source: `  publishClosed(nextBlock: number): void {
    Atomics.store(this.#words, CLOSED_BLOCKS, (nextBlock % TWO_POW_32) | 0);`,
    replacement: `  publishClosed(nextBlock: number): void {
    this.#words[CLOSED_BLOCKS] = (nextBlock % TWO_POW_32) | 0;`,
    breaks: 'the WAL worker sees a block only when all of it is there',
    caughtBy: test('ring/interleavings', 'agree on a disk that fails at once'),
  },
  {
    name: 'producer not woken when more is durable',
    file: WORDS,
    source: `    Atomics.store(this.#words, DURABLE_BLOCKS, (nextBlock % TWO_POW_32) | 0);
    Atomics.notify(this.#words, DURABLE_BLOCKS);`,
    replacement: `    Atomics.store(this.#words, DURABLE_BLOCKS, (nextBlock % TWO_POW_32) | 0);`,
    breaks: 'an append is acknowledged as soon as it is durable',
    caughtBy: test('ring/lane-words', 'wake who waits for durability, and do not let anybody wait for what is durable'),
  },
  {
    name: 'end of another filling taken for this one',
    file: WORDS,
    source: `if (pages === 0 || ahead >= FILLINGS / 2) return NOT_ENDED;`,
    replacement: `if (pages === 0) return NOT_ENDED;`,
    breaks: 'the WAL worker writes each filling to its end, whoever is how far ahead',
    caughtBy: test('ring/lane-words', 'tell the end of a filling from the ends of older and younger ones'),
  },
];
