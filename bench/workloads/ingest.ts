/** NDJSON from a file into a stream, as `millrace ingest` does it, beside `appendMany` of the same lines in memory. */
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MIB, RECORD_BYTES_DEFAULT } from '../../src/limits/limits.ts';
import { recordGroups, recordPool } from '../../src/cli/load/records.ts';
import { BoundedAppender } from '../../src/lines/bounded-appender.ts';
import { fileInput } from '../../src/cli/file-input.ts';
import { LineAppender } from '../../src/lines/line-appender.ts';
import { takeTurns, type Session, type Setting, type Values, type Workload } from '../workload.ts';
import { burstRecords, openStream } from './sizes.ts';

/** Of a line, without its newline. */
const LINE_BYTES = 256;

export const ingest: Workload = {
  name: 'ingest',
  what: `lines of ${LINE_BYTES} B from a file, cut, appended and counted as \`millrace ingest\` does`,
  floor: 'appendMany of the same lines, which lie in memory already, each a Buffer, 1 MiB a call',
  figures: [
    {
      name: 'rate',
      unit: 'records/s',
      better: 'higher',
      target: { subject: 'ratio', bound: 'at least', limit: 0.7 },
    },
    { name: 'bytes', unit: 'bytes/s', better: 'higher' },
  ],
  prepare,
};

async function prepare(setting: Setting): Promise<Session> {
  const { store, stream } = await openStream(setting);
  const [group] = recordGroups(recordPool(LINE_BYTES), MIB / LINE_BYTES) as [Buffer[]];
  const calls = Math.floor(burstRecords(setting, LINE_BYTES) / group.length);
  const count = calls * group.length;
  const file = join(setting.dir, 'lines.ndjson');
  const text = Buffer.concat(group.flatMap((line) => [line, Buffer.from('\n')]));
  writeFileSync(file, Buffer.concat(Array.from({ length: calls }, () => text)));
  // In memory of their own each, as an application has them: a single group, over and over, would stay in the cache.
  const groups = Array.from({ length: calls }, () => group.map((line) => Buffer.from(line)));
  const timed = async (work: () => Promise<unknown>): Promise<Values> => {
    const begun = performance.now();
    await work();
    const seconds = (performance.now() - begun) / 1_000;
    // Outside the measure: the next round finds an empty ring.
    await store.flush();
    return { rate: count / seconds, bytes: (count * LINE_BYTES) / seconds };
  };
  const appended = (): Promise<unknown> => Promise.all(groups.map((lines) => stream.appendMany(lines)));
  const ingested = async (): Promise<void> => {
    const appender = new BoundedAppender(stream);
    const descriptor = openSync(file, 'r');
    try {
      const { memory, chunks } = fileInput(descriptor);
      const lines = new LineAppender(memory, appender, { maxLineBytes: RECORD_BYTES_DEFAULT });
      for await (const chunk of chunks) await lines.push(chunk);
      await lines.end();
      await appender.finish();
    } finally {
      closeSync(descriptor);
    }
    if (appender.kept.records !== count) throw new Error(`${appender.kept.records} lines instead of ${count}`);
  };
  return {
    round: takeTurns(
      () => timed(appended),
      () => timed(ingested),
    ),
    close: () => store.close(),
  };
}
