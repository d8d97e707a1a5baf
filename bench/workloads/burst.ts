/** `appendMany` of as much as the ring holds: what the log can take when the flush does not have to keep up. */
import { MIB } from '../../src/limits/limits.ts';
import { Floor } from '../floor.ts';
import { recordGroups, recordPool } from '../../src/cli/load/records.ts';
import { takeTurns, type Session, type Setting, type Target, type Values, type Workload } from '../workload.ts';
import { burstRecords, openStream, type RecordSize } from './sizes.ts';

/** Bytes of one `appendMany`. */
const GROUP_BYTES = MIB;
const NANOSECONDS = 1e9;

const TARGETS: Readonly<Record<string, Target>> = {
  '100': { subject: 'ratio', bound: 'at least', limit: 0.6, goal: 0.7 },
  '1k': { subject: 'ratio', bound: 'at least', limit: 0.8, goal: 0.85 },
  '16k': { subject: 'ratio', bound: 'at least', limit: 0.85 },
};
/** Of the calling thread, for one record of 100 bytes. */
const THREAD_TARGET: Target = { subject: 'value', bound: 'at most', limit: 150 };

export function burst(size: RecordSize): Workload {
  return {
    name: `burst-${size.label}`,
    what: `appendMany of ${size.text} records, 1 MiB a call, as much as the ring holds`,
    floor: 'copies 1 MiB, overwrites and syncs it, and so on',
    figures: [
      { name: 'rate', unit: 'records/s', better: 'higher', target: TARGETS[size.label]! },
      { name: 'bytes', unit: 'bytes/s', better: 'higher' },
      {
        name: 'thread time a record',
        unit: 'ns',
        better: 'lower',
        ...(size.label === '100' ? { target: THREAD_TARGET } : {}),
      },
    ],
    prepare: (setting) => prepare(setting, size.bytes),
  };
}

async function prepare(setting: Setting, recordBytes: number): Promise<Session> {
  const { store, stream } = await openStream(setting);
  const floor = new Floor(setting.dir);
  const pool = recordPool(recordBytes);
  const groups = recordGroups(pool, Math.min(pool.length, Math.floor(GROUP_BYTES / recordBytes)));
  const calls = Math.floor(burstRecords(setting, recordBytes) / groups[0]!.length);
  const count = calls * groups[0]!.length;
  const valuesOf = (seconds: number, threadSeconds: number): Values => ({
    rate: count / seconds,
    bytes: (count * recordBytes) / seconds,
    'thread time a record': (threadSeconds / count) * NANOSECONDS,
  });
  const millrace = async (): Promise<Values> => {
    const begun = performance.now();
    const acknowledged: Promise<number>[] = [];
    for (let call = 0; call < calls; call += 1) acknowledged.push(stream.appendMany(groups[call % groups.length]!));
    const threadSeconds = (performance.now() - begun) / 1_000;
    await Promise.all(acknowledged);
    const seconds = (performance.now() - begun) / 1_000;
    // Outside the measure: the next round finds an empty ring.
    await store.flush();
    return valuesOf(seconds, threadSeconds);
  };
  return {
    round: takeTurns(() => {
      const { seconds, copySeconds } = floor.burst(pool, count);
      return valuesOf(seconds, copySeconds);
    }, millrace),
    close: async () => {
      floor.close();
      await store.close();
    },
  };
}
