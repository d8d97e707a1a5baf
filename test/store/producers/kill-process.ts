/**
 * A process that is going to be killed: threads with producers of their own, and the store's thread, append to streams
 * that go from one to the other, and report what was acknowledged. Argument: directory of the store.
 */
import { writeSync } from 'node:fs';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import {
  attachProducer,
  isMillraceError,
  open,
  type Producer,
  type ProducerHandle,
  type ProducerStream,
} from '../../../src/index.ts';
import { STREAMS } from './kill-report.ts';

const THREADS = 2;
/** So many groups of appends, then a stream goes to whoever wants it. */
const GROUPS = 6;
const GROUP_RECORDS = 40;

/** Whole lines, one write each: threads share the descriptor. */
function report(line: string): void {
  writeSync(1, `${line}\n`);
}

async function appendGroups(stream: Pick<ProducerStream, 'name' | 'appendMany'>, who: string): Promise<void> {
  for (let group = 0; group < GROUPS; group += 1) {
    const values = Array.from({ length: GROUP_RECORDS }, (_, index) => `${who}/${group}/${index}`.padEnd(500, '.'));
    const first = await stream.appendMany(values);
    report(`${stream.name} ${first} ${values.length} ${who}/${group}`);
  }
}

async function produce(producer: Producer, thread: number): Promise<never> {
  for (let turn = 0; ; turn += 1) {
    const name = STREAMS[(turn * 7 + thread * 3) % STREAMS.length]!;
    try {
      const stream = await producer.stream(name);
      await appendGroups(stream, `t${thread}.${turn}`);
      await stream.release();
    } catch (error) {
      if (!isMillraceError(error, 'ERR_MILLRACE_STREAM_HELD')) throw error;
    }
  }
}

if (isMainThread) {
  const store = await open({
    dir: process.argv[2] ?? '',
    wal: { slots: 2, slotBytes: 128 * 1024, flushInterval: 30 },
  });
  report('open');
  for (let thread = 0; thread < THREADS; thread += 1) {
    const handle = await store.producer();
    new Worker(new URL(import.meta.url), { workerData: { handle, thread }, transferList: handle.transferList });
  }
  const own = await store.stream('own');
  for (let turn = 0; ; turn += 1) await appendGroups(own, `m.${turn}`);
} else {
  const { handle, thread } = workerData as { readonly handle: ProducerHandle; readonly thread: number };
  await produce(await attachProducer(handle), thread);
}
