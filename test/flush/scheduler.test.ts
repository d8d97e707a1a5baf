/** What the flush survives: reservations that end while the machine sleeps, and a coordinator out of reach. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ManualClock } from '../../src/base/clock.ts';
import { SeededRandom } from '../../src/base/random.ts';
import { openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import { MillraceError } from '../../src/errors/millrace-error.ts';
import type { FlushedRun, FlushJob } from '../../src/flush/flush-job.ts';
import { FlushScheduler } from '../../src/flush/scheduler.ts';
import { allocateRing } from '../../src/ring/geometry.ts';
import { PLAIN, sampleRun } from '../../src/testing/coordinator/samples.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';

const storeId = new Uint8Array(16).fill(7);
const geometry = { slots: 2, slotBytes: 65_536 };
const lane = { lane: 0, ring: allocateRing(geometry), geometry };
const slot = { slotSequence: 0, endPosition: 4_096, lastBlock: 0 };
const HOUR = 3_600_000;

interface Subject {
  readonly coordinator: Coordinator;
  readonly clock: ManualClock;
  /** Keys under which segments were written. */
  readonly written: string[];
  readonly committed: string[];
  readonly failures: MillraceError[];
  readonly scheduler: FlushScheduler;
}

async function start(
  runs: readonly FlushedRun[],
  write: (job: FlushJob, clock: ManualClock) => void | Promise<void>,
): Promise<Subject> {
  const clock = new ManualClock(1_000_000);
  const fileSystem = new SimulatedDisk();
  const random = new SeededRandom(1);
  const coordinator = await openEmbeddedCoordinator({ fileSystem, directory: '/manifest', storeId, clock, random });
  await coordinator.createStream('orders', PLAIN);
  const [written, committed, failures]: [string[], string[], MillraceError[]] = [[], [], []];
  const scheduler = new FlushScheduler({
    coordinator,
    runner: {
      flush: async (job) => {
        written.push(job.objectKey);
        await write(job, clock);
        return { objectKey: job.objectKey, bytes: 4_096, checksum: '0123456789abcdef', runs, truncations: [] };
      },
      close: async () => undefined,
    },
    objects: { module: 'none', options: {} },
    storeId,
    clock,
    compression: () => new Map(),
    relative: false,
    committed: (_slot, { objectKey }) => committed.push(objectKey),
    failed: (error) => failures.push(error),
    sleep: () => setImmediate(undefined),
  });
  return { coordinator, clock, written, committed, failures, scheduler };
}

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

const run = { ...sampleRun(1, 0, 5), trackingSnapshot: false, localOffset: 0 } as FlushedRun;

test('a filling whose reservation ended during its upload is written again under a fresh key', async () => {
  let sleeps = 1;
  const { scheduler, written, committed, failures } = await start([run], (_job, clock) => {
    if (sleeps-- > 0) clock.jump(clock.now() + HOUR);
  });
  scheduler.add(lane, slot, Promise.resolve());
  await scheduler.drain();
  assert.equal(written.length, 2);
  assert.deepEqual(committed, written.slice(1));
  assert.deepEqual(failures, []);
});

test('slots are given free in the order of the log, each when its commit was answered', async () => {
  const written = gate();
  const answered = gate();
  const { coordinator, scheduler, committed } = await start([run], ({ slot: { slotSequence } }) =>
    slotSequence === 0 ? written.opened : undefined,
  );
  const asked: (number | undefined)[] = [];
  coordinator.commitObject = async ({ wal }) => {
    asked.push(wal?.slotSequence);
    await answered.opened;
    return { runs: [], replayed: false };
  };
  const pass = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn += 1) await setImmediate();
  };
  scheduler.add(lane, slot, Promise.resolve());
  scheduler.add(lane, { ...slot, slotSequence: 1, lastBlock: 1 }, Promise.resolve());
  await pass();
  assert.deepEqual(asked, [], 'the younger filling is written first, and waits');
  written.open();
  await pass();
  assert.deepEqual([asked, committed], [[0], []]);
  answered.open();
  await scheduler.drain();
  assert.deepEqual(asked, [0, 1]);
  assert.equal(committed.length, 2);
});

test('a conflict that says that somebody else has written stops the flush', async () => {
  const foreign = { ...sampleRun(1, 3, 5), trackingSnapshot: false, localOffset: 3 } as FlushedRun;
  const { scheduler, written, failures } = await start([foreign], () => undefined);
  scheduler.add(lane, slot, Promise.resolve());
  await assert.rejects(scheduler.drain(), { code: 'ERR_MILLRACE_CONFLICT' });
  assert.equal(written.length, 1);
  assert.equal(failures.length, 1);
});

test('a filling with nothing to keep outlasts a coordinator that is out of reach', async () => {
  const { scheduler, coordinator, failures } = await start([], () => undefined);
  const unavailable = new MillraceError('ERR_MILLRACE_UNAVAILABLE', 'out of reach');
  const advanceFlushed = coordinator.advanceFlushed.bind(coordinator);
  let refusals = 2;
  coordinator.advanceFlushed = async (flushed) => {
    if (refusals-- > 0) throw unavailable;
    return advanceFlushed(flushed);
  };
  coordinator.abortObject = () => Promise.reject(unavailable);
  scheduler.add(lane, slot, Promise.resolve());
  await scheduler.drain();
  assert.deepEqual(await coordinator.flushedSlots(), [{ lane: 0, slotSequence: 0, blockSequence: 0 }]);
  assert.deepEqual(failures, []);
});

test('a flush in a hurry waits no longer for a coordinator that is out of reach', async () => {
  const { scheduler, coordinator, failures } = await start([run], () => undefined);
  coordinator.commitObject = () => Promise.reject(new MillraceError('ERR_MILLRACE_UNAVAILABLE', 'out of reach'));
  scheduler.add(lane, slot, Promise.resolve());
  while (scheduler.counters.retries < 2) await setImmediate();
  assert.deepEqual(failures, []);
  scheduler.hurry();
  await assert.rejects(scheduler.drain(), { code: 'ERR_MILLRACE_UNAVAILABLE' });
});

test('a filling whose worker ended is given to another one, under a fresh key, and not for ever', async () => {
  const ended = new MillraceError('ERR_MILLRACE_WORKER_DIED', 'gone', { details: { workerEnded: true } });
  for (const deaths of [1, 2, 3]) {
    let left = deaths;
    const { scheduler, written, committed, failures } = await start([run], () => {
      if (left-- > 0) throw ended;
    });
    scheduler.add(lane, slot, Promise.resolve());
    if (deaths === 3) {
      await assert.rejects(scheduler.drain(), { code: 'ERR_MILLRACE_WORKER_DIED' });
      assert.deepEqual(failures, [ended]);
    } else {
      await scheduler.drain();
      assert.deepEqual(committed, written.slice(deaths));
    }
    assert.equal(new Set(written).size, Math.min(deaths + 1, 3));
  }
});

test('a job that failed says why, even where its key cannot be given up', async () => {
  const { scheduler, coordinator, failures } = await start([run], () => {
    throw new MillraceError('ERR_MILLRACE_DISK_FULL', 'no room');
  });
  coordinator.abortObject = () => Promise.reject(new MillraceError('ERR_MILLRACE_WRITE_FAILED', 'no abort'));
  scheduler.add(lane, slot, Promise.resolve());
  await assert.rejects(scheduler.drain(), { code: 'ERR_MILLRACE_DISK_FULL' });
  assert.equal(failures[0]?.code, 'ERR_MILLRACE_DISK_FULL');
});
