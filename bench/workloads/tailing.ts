/** A reader that follows the end of a stream: how long after an append it sees the record. */
import { setTimeout as sleep } from 'node:timers/promises';
import { KIB } from '../../src/limits/limits.ts';
import type { Stream } from '../../src/index.ts';
import { recordPool } from '../../src/cli/load/records.ts';
import { percentile } from '../statistics.ts';
import type { Round, Session, Setting, Workload } from '../workload.ts';
import { openStream } from './sizes.ts';

const APPENDS = 2_000;
const APPENDS_QUICK = 100;
/** Milliseconds between appends: far from what the disk can take, so that no queue builds up. */
const PACE = 1;

export const tailing: Workload = {
  name: 'tailing',
  what: 'a follower in the same process receives 1 KiB records that are appended up to 1,000 times a second',
  floor: 'the acknowledgement of the same appends',
  figures: [
    { name: 'p50', unit: 'ms', better: 'lower' },
    { name: 'p99', unit: 'ms', better: 'lower', target: { subject: 'difference', bound: 'at most', limit: 1 } },
  ],
  roundsMax: 5,
  prepare,
};

async function prepare(setting: Setting): Promise<Session> {
  const { store, stream } = await openStream(setting);
  const pool = recordPool(KIB);
  const count = setting.quick ? APPENDS_QUICK : APPENDS;
  return {
    round: () => followWhileAppending(stream, pool, count),
    close: () => store.close(),
  };
}

async function followWhileAppending(stream: Stream, pool: readonly Buffer[], count: number): Promise<Round> {
  const appendedAt = new Float64Array(count);
  const acknowledged = new Float64Array(count);
  const seen = new Float64Array(count);
  const { nextOffset: first } = await stream.info();
  const follower = follow(stream, first, count, (index) => {
    seen[index] = performance.now() - appendedAt[index]!;
  });
  const begun = performance.now();
  const pending: Promise<void>[] = [];
  for (let index = 0; index < count; index += 1) {
    if (performance.now() < begun + index * PACE) await sleep(PACE);
    appendedAt[index] = performance.now();
    const done = (): void => {
      acknowledged[index] = performance.now() - appendedAt[index]!;
    };
    pending.push(stream.append(pool[index % pool.length]!).then(done));
  }
  await Promise.all(pending);
  await follower;
  const percentiles = (times: Float64Array): { p50: number; p99: number } => ({
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
  });
  return { millrace: percentiles(seen), floor: percentiles(acknowledged) };
}

async function follow(stream: Stream, first: number, count: number, saw: (index: number) => void): Promise<void> {
  for await (const { offset } of stream.read({ from: first, follow: true, limit: count })) saw(offset - first);
}
