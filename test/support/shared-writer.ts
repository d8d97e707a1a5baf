/**
 * A process that appends to streams of a shared store. Its argument is a `SharedWriterTask` as JSON. It prints a line
 * for each acknowledged record (`stream index offset`), and `done` at the end.
 */
import { open } from '../../src/index.ts';
import { postgres, type PostgresOptions } from '../../src/postgres.ts';
import { s3, type S3Options } from '../../src/s3/index.ts';

export interface SharedWriterTask {
  /** Begins each of its values, which are `name:index`. */
  readonly name: string;
  readonly streams: readonly string[];
  /** Records for each stream. */
  readonly records: number;
  /** Appends through a publisher of that reference, with the index as id. */
  readonly publisher?: string;
  readonly database: PostgresOptions;
  readonly objects: string | S3Options;
}

/** Appends that wait at the same time. */
const GROUP = 40;

async function main({ name, streams, records, publisher, database, objects }: SharedWriterTask): Promise<void> {
  const store = await open({
    wal: false,
    diskless: { interval: 20, slotBytes: 64 * 1024 },
    objects: typeof objects === 'string' ? objects : s3(objects),
    coordinator: postgres(database),
    compaction: false,
  });
  await Promise.all(
    streams.map(async (streamName) => {
      const stream = await store.stream(streamName);
      const published = publisher === undefined ? undefined : stream.publisher(publisher);
      for (let index = 0; index < records; index += GROUP) {
        const group = Array.from({ length: Math.min(GROUP, records - index) }, async (_, ordinal) => {
          const id = index + ordinal;
          const value = `${name}:${id}`;
          const offset = await (published?.append(id, value).then((answer) => answer.offset) ?? stream.append(value));
          console.log(`${streamName} ${id} ${offset}`);
        });
        await Promise.all(group);
      }
    }),
  );
  await store.close();
  console.log('done');
}

if (process.argv[2] !== undefined) await main(JSON.parse(process.argv[2]) as SharedWriterTask);
