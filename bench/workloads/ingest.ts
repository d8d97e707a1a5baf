/** NDJSON from a file into a stream, as `millrace ingest` does it, beside `appendMany` of the same lines in memory. */
import { createReadStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MIB } from '../../src/limits/limits.ts';
import { recordGroups, recordPool } from '../../src/cli/load/records.ts';
import { appendAllLines } from '../../src/lines/append-lines.ts';
import { BoundedAppender } from '../../src/lines/bounded-appender.ts';
import { takeTurns, type Session, type Setting, type Values, type Workload } from '../workload.ts';
import { burstRecords, openStream } from './sizes.ts';

/** Of a line, without its newline. */
const LINE_BYTES = 256;
/** As the command reads files. */
const READ_BYTES = MIB;

export const ingest: Workload = {
  name: 'ingest',
  what: `lines of ${LINE_BYTES} B from a file, cut, appended and counted as \`millrace ingest\` does`,
  floor: 'appendMany of the same lines, which lie in memory already, 1 MiB a call',
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
  const pool = recordPool(LINE_BYTES);
  const groups = recordGroups(pool, MIB / LINE_BYTES);
  const calls = Math.floor(burstRecords(setting, LINE_BYTES) / groups[0]!.length);
  const count = calls * groups[0]!.length;
  const file = join(setting.dir, 'lines.ndjson');
  const text = Buffer.concat(groups[0]!.flatMap((line) => [line, Buffer.from('\n')]));
  writeFileSync(file, Buffer.concat(Array.from({ length: calls }, () => text)));
  const timed = async (work: () => Promise<unknown>): Promise<Values> => {
    const begun = performance.now();
    await work();
    const seconds = (performance.now() - begun) / 1_000;
    // Outside the measure: the next round finds an empty ring.
    await store.flush();
    return { rate: count / seconds, bytes: (count * LINE_BYTES) / seconds };
  };
  const appended = (): Promise<unknown> =>
    Promise.all(Array.from({ length: calls }, () => stream.appendMany(groups[0]!)));
  const ingested = async (): Promise<void> => {
    const appender = new BoundedAppender(() => Promise.resolve(stream));
    await appendAllLines(createReadStream(file, { highWaterMark: READ_BYTES }), appender);
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
