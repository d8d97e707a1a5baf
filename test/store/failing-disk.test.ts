/** Stores without threads on a disk that fails single calls: what campaigns of failing calls have found. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openIn } from '../../src/store/open.ts';
import type { DiskOperation } from '../../src/testing/disk/calls.ts';
import { survivingPages } from '../../src/testing/disk/power-loss.ts';
import { type DiskSnapshot, SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { SimulatedEnvironment } from '../../src/testing/simulated-environment.ts';
import type { Store } from '../../src/index.ts';
import { texts } from '../support/test-store.ts';

const OPTIONS = { dir: '/store', wal: { slots: 2, slotBytes: 64 * 1024 }, compaction: false } as const;

async function reopened(): Promise<{ disk: SimulatedDisk; store: Store; open: () => Promise<Store> }> {
  const disk = new SimulatedDisk();
  const environment = new SimulatedEnvironment({ fileSystem: disk });
  const open = (): Promise<Store> => openIn(environment, OPTIONS);
  const first = await open();
  await (await first.stream('known')).append('record');
  await first.close();
  return { disk, store: await open(), open };
}

function fail(disk: SimulatedDisk, operation: DiskOperation, path: RegExp, error = 'EIO'): void {
  disk.onCall = (call) => (call.operation === operation && path.test(call.path) ? { error } : undefined);
}

test('a stream that was not opened yet can be read after the manifest takes no more changes', async () => {
  const { disk, store } = await reopened();
  fail(disk, 'sync', /manifest/);
  await assert.rejects(store.stream('new'), { code: 'ERR_MILLRACE_WRITE_FAILED' });
  assert.deepEqual(await texts((await store.stream('known')).read()), ['record']);
});

for (const operation of ['create', 'write', 'sync', 'rename', 'syncDirectory'] as const) {
  test(`a mark of a clean end whose ${operation} fails holds up no closing, and nothing is lost`, async () => {
    const { disk, store, open } = await reopened();
    await (await store.stream('known')).append('another');
    await store.flush();
    fail(disk, operation, operation === 'syncDirectory' ? /wal$/ : /clean/, 'ENOSPC');
    await store.close();
    disk.onCall = undefined;
    const again = await open();
    assert.deepEqual(await texts((await again.stream('known')).read()), ['record', 'another']);
    await again.close();
  });
}

/** The disk after each step of an opening that is left alone; of one operation, or of all. */
async function stepsOf(disk: SimulatedDisk, only?: DiskOperation): Promise<DiskSnapshot[]> {
  const steps: DiskSnapshot[] = [];
  disk.onStep = ({ operation }) => {
    if (only === undefined || operation === only) steps.push(disk.snapshot());
  };
  const store = await openIn(new SimulatedEnvironment({ fileSystem: disk }), OPTIONS);
  await store.close();
  return steps;
}

test('a birth that is killed, and then killed again while its remains are cleared, can be opened', async () => {
  const everything = survivingPages(() => true);
  for (const [index, first] of (await stepsOf(new SimulatedDisk())).entries()) {
    const again = await stepsOf(SimulatedDisk.afterPowerLoss(first, everything), 'remove');
    for (const [step, second] of again.entries()) {
      const disk = SimulatedDisk.afterPowerLoss(second, everything);
      const opened = openIn(new SimulatedEnvironment({ fileSystem: disk }), OPTIONS);
      await assert.doesNotReject(opened, `killed at step ${index}, then at step ${step}`);
      await (await opened).close();
    }
  }
});

test('a birth that fails, and loses power while it is taken back, can be begun again', async () => {
  const disk = new SimulatedDisk();
  const steps: DiskSnapshot[] = [];
  disk.onStep = ({ operation }) => {
    if (operation === 'remove') steps.push(disk.snapshot());
  };
  fail(disk, 'create', /wal/, 'ENOSPC');
  await assert.rejects(openIn(new SimulatedEnvironment({ fileSystem: disk }), OPTIONS), {
    code: 'ERR_MILLRACE_DISK_FULL',
  });
  assert.ok(steps.length > 0);
  for (const snapshot of steps) {
    const again = SimulatedDisk.afterPowerLoss(
      snapshot,
      survivingPages(() => true),
    );
    await (await openIn(new SimulatedEnvironment({ fileSystem: again }), OPTIONS)).close();
  }
});
