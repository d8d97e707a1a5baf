import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { RingSupply } from '../../src/testing/simulated-environment.ts';
import { SimulatedTime } from '../../src/testing/simulated-time.ts';
import { workloadOf } from './campaign.ts';
import { lossesAt } from './draws.ts';
import { KnownDisks, type Loss } from './known-disks.ts';
import { Oracle } from './oracle.ts';
import { type CrashPoint, recover } from './recovery.ts';
import { settle, Worker } from './worker.ts';

/** Seeds whose workloads, between them, have a WAL and none. */
const SEEDS = [3, 4];
/** Of the steps, one in so many is looked at. */
const STRIDE = 5;
const rings = new RingSupply();

/** The steps of the disk in a workload without crashes. */
async function pointsOf(seed: number): Promise<CrashPoint[]> {
  const { mode, direct, steps } = workloadOf(seed);
  const time = new SimulatedTime();
  const disk = new SimulatedDisk({ direct, now: () => time.now() });
  const worker = new Worker({ disk, time, mode, seed, rings }, new Oracle());
  const points: CrashPoint[] = [];
  disk.onStep = () => {
    const { oracle, slots } = worker;
    points.push({ snapshot: disk.snapshot(), oracle, moment: oracle.now + 1, now: time.now(), slots });
  };
  await worker.open();
  for (const step of steps) if (step.do !== 'crash') await worker.step(step);
  await settle(time, worker.close());
  worker.environment.dispose();
  return points;
}

describe('a disk that answers all that opening asks as another one did', () => {
  before(loadChecksum);

  it('shows what the other one showed, as opening it would', async () => {
    let opened = 0;
    let states = 0;
    for (const seed of SEEDS) {
      const { mode } = workloadOf(seed);
      const known = new KnownDisks({ opened: () => (opened += 1), recovered: () => undefined });
      const random = new SeededRandom(seed);
      const points = await pointsOf(seed);
      for (const point of points.filter((_, index) => index % STRIDE === 0)) {
        for (const loss of lossesAt(point.snapshot, random, 4, () => undefined)) {
          const before = opened;
          const found = await known.check(loss, { mode, point, seed, rings });
          states += 1;
          if (opened > before) continue;
          const disk = SimulatedDisk.of(loss.snapshot, loss.remains);
          assert.deepEqual(await recover({ mode, point, disk, seed, rings }), found);
        }
      }
    }
    assert.ok(opened > 0 && opened < states, `${opened} of ${states} were opened`);
  });

  it('is no disk on which a record is missing', async () => {
    const [seed = 0] = SEEDS;
    const { mode } = workloadOf(seed);
    const points = await pointsOf(seed);
    const known = new KnownDisks({ opened: () => undefined, recovered: () => undefined });
    const last = points.at(-1);
    assert.ok(last !== undefined);
    const [whole] = lossesAt(last.snapshot, new SeededRandom(1), 1, () => undefined);
    await known.check(whole as Loss, { mode, point: last, seed, rings });
    // An object of it, or its log, as it was before.
    const earlier = points[Math.floor(points.length / 2)];
    assert.ok(earlier !== undefined);
    const [old] = lossesAt(earlier.snapshot, new SeededRandom(1), 1, () => undefined);
    await assert.rejects(known.check(old as Loss, { mode, point: last, seed, rings }), /AssertionError/);
  });
});
