/** Records spread over many streams, against all of them in one: what a stream more costs. */
import { KIB, MIB } from '../../src/limits/limits.ts';
import { open, type Stream } from '../../src/index.ts';
import { runClosedLoop } from '../closed-loop.ts';
import { recordPool } from '../../src/cli/load/records.ts';
import { takeTurns, type Session, type Setting, type Target, type Values, type Workload } from '../workload.ts';
import { storeDirectory } from './sizes.ts';

const WINDOW = 4_096;
/** Twice the ring: the flush is part of it. */
const BYTES = 256 * MIB;
const BYTES_QUICK = 8 * MIB;
/** Streams are made so many at a time. */
const MAKE_AT_ONCE = 1_000;

export function manyStreams(count: number, target: Target): Workload {
  return {
    name: `streams-${count}`,
    what: `append of 1 KiB records to ${count.toLocaleString('en-US')} streams in turn, 4,096 in flight`,
    floor: 'millrace itself, the same records in one stream',
    figures: [
      { name: 'rate', unit: 'records/s', better: 'higher', target },
      { name: 'rate until in segments', unit: 'records/s', better: 'higher' },
    ],
    roundsMax: 5,
    prepare: (setting) => prepare(setting, count),
  };
}

async function prepare(setting: Setting, streamCount: number): Promise<Session> {
  const store = await open(storeDirectory(setting));
  const single = await store.stream('single');
  const streams: Stream[] = [];
  while (streams.length < streamCount) {
    const wanted = Math.min(MAKE_AT_ONCE, streamCount - streams.length);
    const names = Array.from({ length: wanted }, (_, index) => `stream-${streams.length + index}`);
    streams.push(...(await Promise.all(names.map((name) => store.stream(name)))));
  }
  const pool = recordPool(KIB);
  const mask = pool.length - 1;
  const count = (setting.quick ? BYTES_QUICK : BYTES) / KIB;
  const ingest = async (append: (index: number) => Promise<number>): Promise<Values> => {
    const begun = performance.now();
    const { seconds } = await runClosedLoop({ window: WINDOW, count, append, timedEvery: WINDOW });
    await store.flush();
    return { rate: count / seconds, 'rate until in segments': count / ((performance.now() - begun) / 1_000) };
  };
  return {
    round: takeTurns(
      () => ingest((index) => single.append(pool[index & mask]!)),
      () => ingest((index) => streams[index % streamCount]!.append(pool[index & mask]!)),
    ),
    close: () => store.close(),
  };
}
