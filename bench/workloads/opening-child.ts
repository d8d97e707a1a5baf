/** The processes of the opening workloads: one that fills a store and dies or closes it, and one that opens it. */
import { open, type Stream } from '../../src/index.ts';
import { KIB, MIB } from '../../src/limits/limits.ts';
import { runClosedLoop } from '../closed-loop.ts';
import { answer, jobOf } from '../processes.ts';
import { recordGroups, recordPool } from '../../src/cli/load/records.ts';

export interface OpeningJob {
  readonly action: 'fill and die' | 'fill and close' | 'open';
  readonly dir: string;
  /** User bytes that are filled in, or have to be found. */
  readonly bytes: number;
}

export interface OpeningAnswer {
  readonly milliseconds: number;
}

const GROUP_RECORDS = 1_024;
const WINDOW = 8;
/** Milliseconds, and bytes a second: slower than any disk that benchmarks are run on. */
const WRITING_TIME_MIN = 500;
const WRITING_RATE = 64 * MIB;

const { action, dir, bytes } = jobOf<OpeningJob>();
const records = bytes / KIB;
const calls = records / GROUP_RECORDS;
if (action === 'fill and die') await fillAndDie();
else if (action === 'fill and close') await fillAndClose();
else await openAndCheck();

function appender(stream: Stream): (call: number) => Promise<number> {
  const groups = recordGroups(recordPool(KIB), GROUP_RECORDS);
  return (call) => stream.appendMany(groups[call % groups.length]!);
}

/**
 * Leaves every record in the log and none in a segment: flushed slots are given up by this thread, which is kept from
 * running until the log worker has written everything, and then killed.
 */
async function fillAndDie(): Promise<void> {
  const store = await open(dir);
  const append = appender(await store.stream('records'));
  for (let call = 0; call < calls; call += 1) void append(call);
  const writingTime = WRITING_TIME_MIN + (bytes / WRITING_RATE) * 1_000;
  // Comes behind the callback that closes the last block.
  process.nextTick(() => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, writingTime);
    process.kill(process.pid, 'SIGKILL');
  });
}

async function fillAndClose(): Promise<void> {
  const store = await open(dir);
  await runClosedLoop({ window: WINDOW, count: calls, append: appender(await store.stream('records')) });
  await store.close();
  await answer({});
}

async function openAndCheck(): Promise<void> {
  const begun = performance.now();
  const store = await open(dir);
  const milliseconds = performance.now() - begun;
  const { nextOffset } = await (await store.stream('records')).info();
  if (nextOffset !== records) throw new Error(`${nextOffset} records were found where ${records} were written`);
  await store.close();
  await answer({ milliseconds } satisfies OpeningAnswer);
}
