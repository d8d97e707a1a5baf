/** One append after the other while a thousand readers wait at the ends of other streams. */
import { setTimeout as sleep } from 'node:timers/promises';
import { KIB } from '../../src/limits/limits.ts';
import type { Stream } from '../../src/index.ts';
import { runClosedLoop } from '../closed-loop.ts';
import { recordPool } from '../../src/cli/load/records.ts';
import { percentile } from '../statistics.ts';
import { takeTurns, type Session, type Setting, type Values, type Workload } from '../workload.ts';
import { openStream } from './sizes.ts';

const FOLLOWERS = 1_000;
/** Milliseconds in which all of them come to wait. */
const SETTLING = 200;
const APPENDS = 2_000;
const APPENDS_QUICK = 100;

export const idleFollowers: Workload = {
  name: 'idle-followers',
  what: `append of 1 KiB records, 1 in flight, while ${FOLLOWERS.toLocaleString('en-US')} other streams are followed`,
  floor: 'millrace itself without followers',
  figures: [
    { name: 'rate', unit: 'records/s', better: 'higher', target: { subject: 'ratio', bound: 'at least', limit: 0.8 } },
    { name: 'ack p50', unit: 'us', better: 'lower' },
  ],
  roundsMax: 5,
  prepare,
};

async function prepare(setting: Setting): Promise<Session> {
  const { store, stream } = await openStream(setting);
  const idle: Stream[] = [];
  for (let index = 0; index < FOLLOWERS; index += 1) idle.push(await store.stream(`idle-${index}`));
  const pool = recordPool(KIB);
  const count = setting.quick ? APPENDS_QUICK : APPENDS;
  const ingest = async (): Promise<Values> => {
    const append = (index: number): Promise<number> => stream.append(pool[index % pool.length]!);
    const { seconds, latencies } = await runClosedLoop({ window: 1, count, append });
    return { rate: count / seconds, 'ack p50': percentile(latencies, 0.5) * 1_000 };
  };
  const followed = async (): Promise<Values> => {
    const readers = idle.map((each) => each.readBatches({ follow: true }));
    const waiting = readers.map((reader) => reader.next());
    await sleep(SETTLING);
    const values = await ingest();
    await Promise.all(readers.map((reader) => reader.return(undefined)));
    await Promise.all(waiting);
    return values;
  };
  return { round: takeTurns(ingest, followed), close: () => store.close() };
}
