/** The ring between two real threads. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { SeededRandom } from '../../src/base/random.ts';
import { allocateDoorbell, Doorbell } from '../../src/ring/doorbell.ts';
import { allocateRing, type RingGeometry } from '../../src/ring/geometry.ts';
import { RingProducer, type SealedSlot } from '../../src/ring/producer.ts';
import type { ConsumerData } from '../support/ring-consumer.worker.ts';

const STORE_ID = new Uint8Array(16).fill(7);

interface Stress {
  readonly geometry: RingGeometry;
  readonly count: number;
  readonly largest: number;
  /** One in so many numbers is followed by a pause that lets the consumer fall asleep; 0 for none. */
  readonly pauseEvery: number;
  readonly seed: number;
}

/** Sends numbers through the ring; resolves with what the consumer found wrong, if anything. */
async function run({ geometry, count, largest, pauseEvery, seed }: Stress): Promise<unknown> {
  const ring = allocateRing(geometry);
  const doorbell = allocateDoorbell();
  // Both counters wrap on the way: block sequences at 2^32, the low bits of fillings at 2^14.
  const start = { slotSequence: 2 ** 14 - 2, blockSequence: 2 ** 32 - 20 };
  const sealed: SealedSlot[] = [];
  const identity = { lane: 0, storeId: STORE_ID };
  const producer = new RingProducer(ring, geometry, identity, start, start.slotSequence - 1, new Doorbell(doorbell), {
    closing: () => undefined,
    closed: () => undefined,
    sealed: (slot) => sealed.push(slot),
  });
  producer.words.reset(start.blockSequence);
  const data: ConsumerData = { ring, geometry, start, doorbell, seed, count };
  const worker = new Worker(new URL('../support/ring-consumer.worker.js', import.meta.url), { workerData: data });
  const answer = once(worker, 'message');
  const random = new SeededRandom(seed);
  let durable = start.blockSequence;
  const release = (): void => {
    durable = producer.words.durableBlocks(durable);
    while (sealed[0] !== undefined && sealed[0].lastBlock < durable) producer.release(sealed.shift()!.slotSequence);
  };
  const write = (number: number): boolean => {
    const bytes = 16 + 8 * random.below(largest / 8);
    const at = producer.reserve(bytes);
    if (at < 0) return false;
    producer.view.setUint32(at, bytes, true);
    producer.view.setUint32(at + 4, number, true);
    producer.view.setUint32(at + bytes - 4, (number ^ bytes) >>> 0, true);
    producer.advance(at + bytes);
    return true;
  };
  for (let number = 0; number < count && !producer.words.failed;) {
    release();
    if (write(number)) number += 1;
    else await producer.words.waitDurable(durable);
    if (random.below(40) === 0) producer.closeBlock();
    if (random.below(400) === 0) producer.sealSlot();
    if (pauseEvery > 0 && random.below(pauseEvery) === 0) {
      producer.closeBlock();
      await new Promise((resolve) => setTimeout(resolve, random.below(3)));
    }
  }
  producer.closeBlock();
  const [{ problem }] = (await answer) as [{ problem: unknown }];
  await worker.terminate();
  return problem;
}

describe('a ring between two threads', () => {
  it('carries every byte in order around many fillings, and across the wrap of its counters', async () => {
    const geometry = { slots: 3, slotBytes: 64 * 1024 };
    assert.equal(await run({ geometry, count: 60_000, largest: 800, pauseEvery: 0, seed: 1 }), undefined);
  });

  it('carries frames that fill most of a slot', async () => {
    const geometry = { slots: 2, slotBytes: 128 * 1024 };
    assert.equal(await run({ geometry, count: 1_500, largest: 120_000, pauseEvery: 0, seed: 2 }), undefined);
  });

  it('never loses a wake-up, however sleeps and rings fall together', async () => {
    const geometry = { slots: 4, slotBytes: 64 * 1024 };
    assert.equal(await run({ geometry, count: 20_000, largest: 200, pauseEvery: 30, seed: 3 }), undefined);
  });
});
