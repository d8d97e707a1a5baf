/** Few appends in flight: what one client waits for. Each group of appends costs a sync, so latency is what counts. */
import { KIB } from '../../src/limits/limits.ts';
import { runClosedLoop } from '../closed-loop.ts';
import { Floor } from '../floor.ts';
import { recordPool } from '../../src/cli/load/records.ts';
import { percentile } from '../statistics.ts';
import { takeTurns, type Session, type Setting, type Target, type Values, type Workload } from '../workload.ts';
import { openStream } from './sizes.ts';

const GROUPS = 4_000;
const GROUPS_QUICK = 100;
const TARGET: Target = { subject: 'ratio', bound: 'at most', limit: 1.4, goal: 1.2 };

/** `size` appends of 1 KiB in flight. */
export function window(size: number): Workload {
  const one = size === 1;
  return {
    name: `window-${size}`,
    what: `append of 1 KiB records, ${size} in flight`,
    floor: one ? 'overwrites and syncs 4 KiB' : `copies ${size} records, overwrites and syncs them`,
    figures: [
      { name: 'rate', unit: 'records/s', better: 'higher' },
      { name: 'ack p50', unit: 'us', better: 'lower', ...(one ? { target: TARGET } : {}) },
      { name: 'ack p99', unit: 'us', better: 'lower' },
    ],
    prepare: (setting) => prepare(setting, size),
  };
}

async function prepare(setting: Setting, size: number): Promise<Session> {
  const { store, stream } = await openStream(setting);
  const floor = new Floor(setting.dir);
  const pool = recordPool(KIB);
  const mask = pool.length - 1;
  const groups = setting.quick ? GROUPS_QUICK : GROUPS;
  const count = groups * size;
  const valuesOf = (seconds: number, milliseconds: Float64Array): Values => ({
    rate: count / seconds,
    'ack p50': percentile(milliseconds, 0.5) * 1_000,
    'ack p99': percentile(milliseconds, 0.99) * 1_000,
  });
  return {
    round: takeTurns(
      () => {
        const times = floor.groups(pool, size, groups);
        const milliseconds = times.reduce((sum, time) => sum + time, 0);
        return valuesOf(milliseconds / 1_000, times);
      },
      async () => {
        const append = (index: number): Promise<number> => stream.append(pool[index & mask]!);
        const { seconds, latencies } = await runClosedLoop({ window: size, count, append });
        await store.flush();
        return valuesOf(seconds, latencies);
      },
    ),
    close: async () => {
      floor.close();
      await store.close();
    },
  };
}
