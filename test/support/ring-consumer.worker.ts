/**
 * A thread that consumes a ring: takes every closed block, checks that the numbers in its payload go on where the last
 * block ended, publishes it as durable, and sleeps on the doorbell in between, with pauses at random moments.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { SeededRandom } from '../../src/base/random.ts';
import { Doorbell } from '../../src/ring/doorbell.ts';
import type { RingGeometry } from '../../src/ring/geometry.ts';
import type { LaneStart } from '../../src/ring/producer.ts';
import { RingConsumer } from './ring-consumer.ts';

export interface ConsumerData {
  readonly ring: SharedArrayBuffer;
  readonly geometry: RingGeometry;
  readonly start: LaneStart;
  readonly doorbell: SharedArrayBuffer;
  readonly seed: number;
  /** The numbers end here. */
  readonly count: number;
}

/** Far longer than the test may take: only the bell ends a sleep. */
const SLEEP = 600_000;

const { ring, geometry, start, doorbell, seed, count } = workerData as ConsumerData;
const bell = new Doorbell(doorbell);
const random = new SeededRandom(seed);
const consumer = new RingConsumer(ring, geometry, start);
const idle = new Int32Array(new SharedArrayBuffer(4));
let next = 0;
let problem: string | undefined;

function consume(payload: Uint8Array): void {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  for (let at = 0; at < payload.length; at += view.getUint32(at, true)) {
    const number = view.getUint32(at + 4, true);
    const bytes = view.getUint32(at, true);
    const last = view.getUint32(at + bytes - 4, true);
    if (number !== next || last !== (number ^ bytes) >>> 0) {
      problem ??= `found ${number} (${bytes} bytes, ends with ${last}) where ${next} was due`;
      next = count;
      return;
    }
    next += 1;
  }
}

while (next < count) {
  const seen = bell.read();
  if (random.below(16) === 0) Atomics.wait(idle, 0, 0, random.below(3));
  const block = consumer.take();
  if (block === undefined) {
    bell.sleep(seen, SLEEP);
  } else {
    consume(block.payload);
    consumer.words.publishDurable(consumer.nextBlock);
  }
}
if (problem !== undefined) consumer.words.publishFailed();
parentPort?.postMessage({ problem });
