/** Processes that are killed before they sync the names that they have made; after the next one power is lost. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { SeededRandom } from '../../src/base/random.ts';
import type { OpenOptions, Store } from '../../src/index.ts';
import { openIn } from '../../src/store/open.ts';
import { randomSurvival, type Survival } from '../../src/testing/disk/power-loss.ts';
import { type DiskSnapshot, SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { SimulatedEnvironment } from '../../src/testing/simulated-environment.ts';
import { SimulatedTime } from '../../src/testing/simulated-time.ts';
import { settle } from '../faults/worker.ts';

const NOTHING: Survival = { page: () => 0, size: (_path, durable) => durable, name: () => false };
const SLOT_BYTES = 64 * 1024;
const optionsOf = (slots: number): OpenOptions & { dir: string } => ({
  dir: '/deep/in/store',
  compaction: false,
  wal: { slots, slotBytes: SLOT_BYTES },
});
const WITHOUT_WAL: OpenOptions & { dir: string } = { dir: '/deep/in/store', compaction: false, wal: false };

/** Does `work` with the store on `disk`, and lets go of it as a process does that is killed. */
async function during(
  disk: SimulatedDisk,
  options: OpenOptions & { dir: string },
  work: (store: Store) => Promise<unknown>,
): Promise<void> {
  const time = new SimulatedTime();
  const environment = new SimulatedEnvironment({ fileSystem: disk, time, seed: 1 });
  try {
    await settle(
      time,
      openIn(environment, options).then((store) => work(store)),
    );
  } finally {
    environment.dispose();
  }
}

async function append(store: Store, value: string): Promise<void> {
  await (await store.stream('s')).append(value);
}

/** Every moment at which a process may be killed that opens the store on `disk` and closes it. */
async function momentsOf(disk: SimulatedDisk, options: OpenOptions & { dir: string }): Promise<DiskSnapshot[]> {
  const moments: DiskSnapshot[] = [];
  disk.onStep = () => moments.push(disk.snapshot());
  await during(disk, options, (store) => store.close());
  disk.onStep = undefined;
  return moments;
}

/** The next process opens what was left at `moment`; then power is lost. What it acknowledged has to be there. */
async function checkNext(moment: DiskSnapshot, options: OpenOptions & { dir: string }, index: number): Promise<void> {
  const left = new SimulatedDisk(moment.options, moment);
  await during(left, options, (store) => append(store, 'acknowledged'));
  const snapshot = left.snapshot();
  left.disconnect();
  for (const survival of [NOTHING, randomSurvival(new SeededRandom(index)), randomSurvival(new SeededRandom(-index))]) {
    const disk = SimulatedDisk.afterPowerLoss(snapshot, survival);
    await during(disk, options, async (store) => {
      const stream = await store.stream('s');
      const { nextOffset } = await stream.info();
      assert.equal((await stream.get(nextOffset - 1))?.value?.toString(), 'acknowledged', `killed at step ${index}`);
      await store.close();
    });
  }
}

suite('what a killed process has made without a sync is made durable by the next one', () => {
  test('as a new store', async () => {
    const moments = await momentsOf(new SimulatedDisk(), optionsOf(2));
    assert.ok(moments.length > 10);
    for (const [index, moment] of moments.entries()) await checkNext(moment, optionsOf(2), index);
  });

  test('as a new store without a WAL', async () => {
    const moments = await momentsOf(new SimulatedDisk(), WITHOUT_WAL);
    assert.ok(moments.length > 5);
    for (const [index, moment] of moments.entries()) await checkNext(moment, WITHOUT_WAL, index);
  });

  test('as a ring of another size', async () => {
    const disk = new SimulatedDisk();
    await during(disk, optionsOf(2), async (store) => {
      await append(store, 'first');
      await store.close();
    });
    const moments = await momentsOf(disk, optionsOf(3));
    assert.ok(moments.length > 10);
    for (const [index, moment] of moments.entries()) await checkNext(moment, optionsOf(3), index);
  });
});
