/**
 * Random histories of a lane with power losses in the middle of writes, against an oracle that remembers which blocks
 * were acknowledged.
 */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { groupFrames } from '../../src/flush/slot-frames.ts';
import type { LaneStart, SealedSlot } from '../../src/ring/producer.ts';
import { readFrameHeader } from '../../src/record/frame-reader.ts';
import { survivingPages } from '../../src/testing/disk/power-loss.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import {
  DIRECTORY,
  NOTHING_FLUSHED,
  PowerLoss,
  recover,
  recoveredText,
  SMALL_RING,
  SteppedLane,
} from '../support/stepped-lane.ts';

type Step =
  | { readonly do: 'append'; readonly streamId: number; readonly bytes: number }
  | { readonly do: 'close' | 'write' | 'seal' | 'flush' | 'reopen' }
  | { readonly do: 'crash'; readonly keep: number; readonly seed: number };

/** A block as the oracle sees it: its records, in order. Its sequence is its index in the log. */
interface Block {
  readonly slotSequence: number;
  readonly records: readonly { readonly streamId: number; readonly value: string }[];
}

class History {
  readonly #disk = new SimulatedDisk({ directories: [DIRECTORY] });
  #lane: SteppedLane | undefined;
  /** Acknowledged blocks, from the first of the store's life on. */
  readonly #log: Block[] = [];
  /** Closed blocks that nobody has acknowledged. */
  #closed: Block[] = [];
  #open: { streamId: number; value: string }[] = [];
  #openSlot = 0;
  #flushed: LaneStart = NOTHING_FLUSHED;
  #unflushed: SealedSlot[] = [];
  #records = 0;
  /** Crashes that left something to decide. */
  torn = 0;

  async run(steps: readonly Step[]): Promise<void> {
    this.#lane = await SteppedLane.open(this.#disk);
    for (const step of steps) {
      if (step.do === 'append') this.#append(step.streamId, step.bytes);
      else if (step.do === 'close') this.#close();
      else if (step.do === 'write') this.#write();
      else if (step.do === 'seal') this.#seal();
      else if (step.do === 'flush') this.#flush();
      else if (step.do === 'crash') await this.#crash(step.keep, new SeededRandom(step.seed));
      else await this.#reopen(0);
    }
    await this.#reopen(0);
  }

  get #running(): SteppedLane {
    assert.ok(this.#lane !== undefined);
    return this.#lane;
  }

  #append(streamId: number, bytes: number): void {
    const { producer } = this.#running;
    const value = `${this.#records}:`.padEnd(bytes, 'v');
    const sequence = producer.blockSequence;
    const slotSequence = producer.slotSequence;
    const taken = this.#running.append(streamId, value);
    // Where the record found no room, the block in front of it was closed, and its slot perhaps sealed.
    if (producer.blockSequence !== sequence) this.#closeInOracle(slotSequence);
    if (!taken) return;
    this.#openSlot = producer.slotSequence;
    this.#open.push({ streamId, value });
    this.#records += 1;
  }

  #close(): void {
    if (this.#running.producer.closeBlock()) this.#closeInOracle(this.#openSlot);
  }

  #seal(): void {
    const sequence = this.#running.producer.blockSequence;
    this.#running.producer.sealSlot();
    if (this.#running.producer.blockSequence !== sequence) this.#closeInOracle(this.#openSlot);
  }

  #closeInOracle(slotSequence: number): void {
    this.#closed.push({ slotSequence, records: this.#open });
    this.#open = [];
  }

  #write(): void {
    this.#running.writer.step();
    this.#acknowledge();
  }

  #acknowledge(): void {
    const durable = this.#running.producer.words.durableBlocks(this.#log.length);
    this.#log.push(...this.#closed.splice(0, durable - this.#log.length));
  }

  /** Flushes the oldest sealed filling, once all of it is durable. */
  #flush(): void {
    this.#unflushed.push(...this.#running.sealed.splice(0));
    const slot = this.#unflushed[0];
    if (slot === undefined || slot.lastBlock >= this.#log.length) return;
    this.#unflushed.shift();
    this.#checkFlush(slot);
    this.#flushed = { slotSequence: slot.slotSequence, blockSequence: slot.lastBlock };
    this.#running.producer.release(slot.slotSequence);
  }

  /** What a flush walks is exactly what was acknowledged in the filling. */
  #checkFlush(slot: SealedSlot): void {
    const view = new DataView(this.#running.ring);
    const found = new Map<number, number>();
    for (const { streamId, positions } of groupFrames(view, SMALL_RING, slot)) {
      const counts = positions.map((at) => readFrameHeader(view, at).recordCount);
      found.set(
        streamId,
        counts.reduce((sum, count) => sum + count, 0),
      );
    }
    const expected = new Map<number, number>();
    const blocks = this.#log.filter(({ slotSequence }) => slotSequence === slot.slotSequence);
    for (const { streamId } of blocks.flatMap(({ records }) => records)) {
      expected.set(streamId, (expected.get(streamId) ?? 0) + 1);
    }
    assert.deepEqual(found, new Map([...expected].sort(([left], [right]) => left - right)));
  }

  /** Loses power in the middle of the next write. */
  async #crash(keep: number, random: SeededRandom): Promise<void> {
    this.#disk.onStep = () => {
      throw new PowerLoss();
    };
    let torn = false;
    try {
      this.#running.writer.step();
    } catch {
      torn = true;
    }
    if (torn) this.torn += 1;
    this.#disk.losePower(survivingPages(() => random.below(100) < keep));
    await this.#reopen(torn ? this.#closed.length : 0);
  }

  /** Recovers: all that was acknowledged, and of the rest at most the first `possible` blocks, each whole. */
  async #reopen(possible: number): Promise<void> {
    const settings = { flushed: this.#flushed, nextOffsets: this.#flushedOffsets() };
    const first = await recover(this.#disk, settings);
    const again = await recover(this.#disk, settings);
    assert.deepEqual(again.recovered, first.recovered, 'recovering twice gives the same');
    this.#lane = await SteppedLane.open(this.#disk, settings);
    const { recovered, ring } = this.#running;
    const survived = recovered.start.blockSequence - this.#log.length;
    assert.ok(survived >= 0, 'no acknowledged block is lost');
    assert.ok(survived <= possible, 'no block appears that was not being written');
    this.#log.push(...this.#closed.slice(0, survived));
    this.#closed = [];
    this.#open = [];
    assert.deepEqual(recoveredText(ring, recovered), this.#unflushedText());
    this.#unflushed = [...recovered.fillings];
  }

  #flushedOffsets(): Map<number, number> {
    const offsets = new Map<number, number>();
    const blocks = this.#log.slice(0, this.#flushed.blockSequence + 1);
    for (const { streamId } of blocks.flatMap(({ records }) => records)) {
      offsets.set(streamId, (offsets.get(streamId) ?? 0) + 1);
    }
    return offsets;
  }

  #unflushedText(): Map<number, string[]> {
    const offsets = this.#flushedOffsets();
    const text = new Map<number, string[]>();
    const blocks = this.#log.slice(this.#flushed.blockSequence + 1);
    for (const { streamId, value } of blocks.flatMap(({ records }) => records)) {
      const offset = offsets.get(streamId) ?? 0;
      offsets.set(streamId, offset + 1);
      text.set(streamId, [...(text.get(streamId) ?? []), `${offset}:${value}`]);
    }
    return text;
  }
}

const append = fc.record({
  do: fc.constant('append' as const),
  streamId: fc.integer({ min: 1, max: 4 }),
  bytes: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 20_000 })),
});
const plain = fc.record({ do: fc.constantFrom('close' as const, 'close' as const, 'write' as const, 'seal' as const) });
const flush = fc.record({ do: fc.constant('flush' as const) });
const crash = fc.record({
  do: fc.constant('crash' as const),
  keep: fc.constantFrom(0, 30, 60, 90, 100),
  seed: fc.integer(),
});
const reopen = fc.record({ do: fc.constant('reopen' as const) });
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: append },
    { weight: 7, arbitrary: plain },
    { weight: 2, arbitrary: flush },
    { weight: 2, arbitrary: crash },
    { weight: 1, arbitrary: reopen },
  ),
  { minLength: 10, maxLength: 80, size: 'max' },
);

describe('a lane that keeps losing power', () => {
  before(loadChecksum);

  it('brings back all that was acknowledged, and of the rest whole blocks in order', async () => {
    let torn = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        const run = new History();
        await run.run(history);
        torn += run.torn;
      }),
      { numRuns: 300, includeErrorInReport: true },
    );
    assert.ok(torn > 100, `only ${torn} writes were torn`);
  });
});
