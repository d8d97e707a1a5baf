/** Retention against clocks that jump and truncations that wait, with a coordinator in memory. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { ManualClock } from '../../src/base/clock.ts';
import { SeededRandom } from '../../src/base/random.ts';
import { type EmbeddedCoordinator, openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import type { Retention } from '../../src/record/stream-config.ts';
import { ClockTrust } from '../../src/store/clock-trust.ts';
import { Trimming } from '../../src/store/trimming.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = 1_700_000_000_000;

class Bench {
  readonly clock: ManualClock = new ManualClock(START);
  readonly cut = new Set<number>();
  readonly trimmed: [number, number][] = [];
  readonly trimming: Trimming;
  flushes = 0;
  readonly coordinator: EmbeddedCoordinator;

  static async open(): Promise<Bench> {
    const clock = new ManualClock(START);
    const coordinator = await openEmbeddedCoordinator({
      fileSystem: new SimulatedDisk({ directories: ['/wal'] }),
      directory: join('/', 'wal', 'manifest'),
      storeId: new Uint8Array(16),
      clock,
      random: new SeededRandom(1),
    });
    return new Bench(coordinator, clock);
  }

  private constructor(coordinator: EmbeddedCoordinator, clock: ManualClock) {
    this.coordinator = coordinator;
    this.clock = clock;
    this.trimming = new Trimming({
      coordinator,
      clock,
      hasTruncations: (streamId) => (streamId === undefined ? this.cut.size > 0 : this.cut.has(streamId)),
      flush: async () => {
        this.flushes += 1;
        this.cut.clear();
      },
      trimmed: async (streamId, firstOffset) => {
        this.trimmed.push([streamId, firstOffset]);
      },
    });
  }

  async stream(name: string, retention: Retention): Promise<number> {
    const config = { compression: 'lz4', cleanup: 'delete', retention } as const;
    return (await this.coordinator.createStream(name, config)).stream.streamId;
  }

  /** A run of ten records with the present time. */
  async commit(streamId: number): Promise<void> {
    const { nextOffset } = await this.coordinator.streamTotals(streamId);
    const [key = ''] = (await this.coordinator.reserveObjects(1)).keys;
    const timestamp = this.clock.now();
    const run = { streamId, firstOffset: nextOffset, nextOffset: nextOffset + 10, records: 10, userBytes: 1_000 };
    const place = { byteOffset: 64, byteLength: 500, chunks: 1, trackingBytes: 0, epoch: 0 };
    const runs = [{ ...run, ...place, firstTimestamp: timestamp, lastTimestamp: timestamp }];
    await this.coordinator.commitObject({ key, bytes: 1_000, checksum: '0'.repeat(16), runs });
  }

  async first(streamId: number): Promise<number> {
    return (await this.coordinator.streamTotals(streamId)).firstOffset;
  }
}

test('a clock that jumps a day ahead and back expires nothing', async () => {
  const bench = await Bench.open();
  const streamId = await bench.stream('a', { maxAge: HOUR });
  for (let run = 0; run < 3; run += 1) await bench.commit(streamId);
  bench.clock.jump(START + DAY);
  await bench.trimming.enforce();
  // The coordinator takes over the wrong time with the next commit, and never goes back.
  await bench.commit(streamId);
  bench.clock.advance(1_000);
  await bench.trimming.enforce();
  bench.clock.jump(START + 5_000);
  for (let round = 0; round < 30; round += 1) {
    bench.clock.advance(60_000);
    await bench.commit(streamId);
    await bench.trimming.enforce();
  }
  assert.equal(await bench.first(streamId), 0);
  // Once the wall clock is where the coordinator's time is, age counts again: up to the run with the wrong time.
  bench.clock.advance(DAY);
  await bench.commit(streamId);
  await bench.trimming.enforce();
  assert.equal(await bench.first(streamId), 30);
});

test('a jump that lasts is believed after ten minutes', async () => {
  const bench = await Bench.open();
  const streamId = await bench.stream('a', { maxAge: HOUR });
  for (let run = 0; run < 3; run += 1) await bench.commit(streamId);
  bench.clock.jump(START + DAY);
  await bench.trimming.enforce();
  bench.clock.advance(599_000);
  await bench.trimming.enforce();
  assert.equal(await bench.first(streamId), 0);
  bench.clock.advance(1_000);
  await bench.trimming.enforce();
  assert.equal(await bench.first(streamId), 30);
});

test('bytes are judged whatever the clock does', async () => {
  const bench = await Bench.open();
  const aged = await bench.stream('aged', { maxAge: HOUR });
  const sized = await bench.stream('sized', { maxBytes: 1_000 });
  for (let run = 0; run < 3; run += 1) for (const streamId of [aged, sized]) await bench.commit(streamId);
  bench.clock.jump(START - DAY);
  await bench.trimming.enforce();
  assert.deepEqual([await bench.first(aged), await bench.first(sized)], [0, 20]);
});

test('a clock that runs a little fast or slow is trusted', () => {
  const clock = new ManualClock(START);
  const trust = new ClockTrust(clock);
  for (let round = 0; round < 100; round += 1) {
    clock.advance(10_000);
    clock.jump(clock.now() + (round % 2 === 0 ? 50_000 : -30_000));
    assert.equal(trust.check(), true);
  }
  clock.jump(clock.now() - DAY);
  assert.equal(trust.check(), false);
});

test('streams with a truncation in the ring are left alone, others are not', async () => {
  const bench = await Bench.open();
  const cut = await bench.stream('cut', { maxBytes: 1 });
  const whole = await bench.stream('whole', { maxBytes: 1 });
  for (let run = 0; run < 3; run += 1) for (const streamId of [cut, whole]) await bench.commit(streamId);
  bench.cut.add(cut);
  await bench.trimming.enforce();
  assert.deepEqual([await bench.first(cut), await bench.first(whole)], [0, 20]);
  assert.deepEqual(bench.trimmed, [[whole, 20]]);
  bench.cut.clear();
  await bench.trimming.enforce();
  assert.equal(await bench.first(cut), 20);
});

test('a trim flushes first when its records, or a truncation, are still in the ring', async () => {
  const bench = await Bench.open();
  const streamId = await bench.stream('a', {});
  for (let run = 0; run < 3; run += 1) await bench.commit(streamId);
  await bench.trimming.trim(streamId, 5);
  assert.equal(bench.flushes, 0);
  bench.cut.add(streamId);
  await bench.trimming.trim(streamId, 12);
  assert.equal(bench.flushes, 1);
  await assert.rejects(bench.trimming.trim(streamId, 31), { code: 'ERR_MILLRACE_OFFSET_OUT_OF_RANGE' });
  assert.equal(bench.flushes, 2);
  await bench.trimming.trim(streamId, 30);
  assert.deepEqual(
    bench.trimmed.map(([, firstOffset]) => firstOffset),
    [5, 12, 30],
  );
});

test('requests while one waits for its turn become one, and work that excludes trims does', async () => {
  const bench = await Bench.open();
  const streamId = await bench.stream('a', { maxBytes: 1 });
  for (let run = 0; run < 3; run += 1) await bench.commit(streamId);
  let release = (): void => undefined;
  const exclusive = bench.trimming.exclusively(
    () =>
      new Promise<void>((resolve) => {
        release = resolve;
      }),
  );
  const requests = [bench.trimming.enforce(), bench.trimming.enforce()];
  assert.equal(requests[0], requests[1]);
  await new Promise(setImmediate);
  assert.equal(await bench.first(streamId), 0);
  release();
  await Promise.all([exclusive, ...requests]);
  assert.equal(await bench.first(streamId), 20);
  assert.deepEqual(bench.trimmed, [[streamId, 20]]);
});

test('without any limit nothing is asked of the coordinator', async () => {
  const bench = await Bench.open();
  const streamId = await bench.stream('a', {});
  await bench.commit(streamId);
  bench.coordinator.enforceRetention = () => assert.fail('nothing to enforce');
  await bench.trimming.enforce();
});

test("an enforcement that fails stands in nobody's way", async () => {
  const bench = await Bench.open();
  const streamId = await bench.stream('a', { maxBytes: 1 });
  for (let run = 0; run < 2; run += 1) await bench.commit(streamId);
  const { coordinator } = bench;
  const enforce = coordinator.enforceRetention.bind(coordinator);
  coordinator.enforceRetention = () => Promise.reject(new Error('away'));
  await assert.rejects(bench.trimming.enforce(), { message: 'away' });
  coordinator.enforceRetention = enforce;
  await bench.trimming.enforce();
  assert.equal(await bench.first(streamId), 10);
});

test('a stream that is deleted before its turn comes is nothing to stop at', async () => {
  const bench = await Bench.open();
  const names = ['gone', 'cut', 'kept'];
  const [gone = 0, cut = 0, kept = 0] = await Promise.all(names.map((name) => bench.stream(name, { maxBytes: 1 })));
  for (const streamId of [gone, cut, kept]) for (let run = 0; run < 2; run += 1) await bench.commit(streamId);
  // With a truncation in the ring the streams are gone over one by one.
  bench.cut.add(cut);
  const { coordinator } = bench;
  const list = coordinator.streams.bind(coordinator);
  coordinator.streams = async () => {
    const streams = await list();
    await coordinator.deleteStream(gone);
    return streams;
  };
  await bench.trimming.enforce();
  assert.deepEqual(bench.trimmed, [[kept, 10]]);
});
