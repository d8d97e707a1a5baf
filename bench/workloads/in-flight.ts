/** One promise a record, thousands in flight: what a server with many clients does. As much as the ring holds. */
import { runClosedLoop } from '../closed-loop.ts';
import { Floor } from '../floor.ts';
import { recordPool } from '../../src/cli/load/records.ts';
import { percentile } from '../statistics.ts';
import { takeTurns, type Session, type Setting, type Target, type Values, type Workload } from '../workload.ts';
import { burstRecords, openStream, type RecordSize } from './sizes.ts';

const WINDOW = 4_096;
const TIMED_EVERY = 16;

const TARGETS: Readonly<Record<string, Target>> = {
  '100': { subject: 'ratio', bound: 'at least', limit: 0.25 },
  '1k': { subject: 'ratio', bound: 'at least', limit: 0.6, goal: 0.7 },
  '16k': { subject: 'ratio', bound: 'at least', limit: 0.8 },
};

export function inFlight(size: RecordSize): Workload {
  return {
    name: `in-flight-${size.label}`,
    what: `append of ${size.text} records, a promise each, 4,096 in flight, as much as the ring holds`,
    floor: 'copies 1 MiB, overwrites and syncs it, and so on',
    figures: [
      { name: 'rate', unit: 'records/s', better: 'higher', target: TARGETS[size.label]! },
      { name: 'ack p50', unit: 'ms', better: 'lower' },
      { name: 'ack p99', unit: 'ms', better: 'lower' },
    ],
    prepare: (setting) => prepare(setting, size.bytes),
  };
}

async function prepare(setting: Setting, recordBytes: number): Promise<Session> {
  const { store, stream } = await openStream(setting);
  const floor = new Floor(setting.dir);
  const pool = recordPool(recordBytes);
  const mask = pool.length - 1;
  const count = burstRecords(setting, recordBytes);
  const millrace = async (): Promise<Values> => {
    const { seconds, latencies } = await runClosedLoop({
      window: WINDOW,
      count,
      append: (index) => stream.append(pool[index & mask]!),
      timedEvery: TIMED_EVERY,
    });
    await store.flush();
    return { rate: count / seconds, 'ack p50': percentile(latencies, 0.5), 'ack p99': percentile(latencies, 0.99) };
  };
  return {
    round: takeTurns(() => ({ rate: count / floor.burst(pool, count).seconds }), millrace),
    close: async () => {
      floor.close();
      await store.close();
    },
  };
}
