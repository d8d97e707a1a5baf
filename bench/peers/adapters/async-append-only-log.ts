/** async-append-only-log: one file of blocks; its append answers before anything is written. */
import { join } from 'node:path';
import { loadPackage } from '../packages.ts';
import type { Peer } from '../peer.ts';

/** What is used of the package. */
type MakeLog = (path: string, options: { writeTimeout: number }) => Log;
type Done = (error?: Error | null) => void;

interface Log {
  append(values: readonly Buffer[], done: Done): void;
  onDrain(done: () => void): void;
  get(offset: number, done: (error: Error | null, value: Buffer) => void): void;
  stream(options: { offsets: boolean; values: boolean }): { pipe(sink: Sink): void };
  close(done: Done): void;
}

interface Sink {
  readonly paused: boolean;
  write(entry: number | Buffer): void;
  end(error?: Error | null): void;
}

/** Milliseconds that a block which is not full waits; 0 means its default of 250. */
const WRITE_TIMEOUT = 1;

export const asyncAppendOnlyLog: Peer = {
  name: 'async-append-only-log',
  packages: ['async-append-only-log'],
  guarantee: 'on disk: `onDrain`, after the sync of each 64 KiB block (the callback of append comes before any write)',
  durable: true,
  groups: 2,
  reads: true,
  streamsMax: 1,
  open: async ({ dir, acknowledged, failed }) => {
    const log = loadPackage<MakeLog>('async-append-only-log')(join(dir, 'log'), { writeTimeout: WRITE_TIMEOUT });
    /** Offsets by index: the log itself knows offsets only. */
    const offsets: number[] = [];
    return {
      append: (values) => {
        log.append(values, (error) => {
          if (error === null || error === undefined) {
            log.onDrain(() => {
              acknowledged(values.length);
            });
          } else {
            failed(error);
          }
        });
      },
      count: async () => {
        offsets.length = 0;
        await stream(log, { offsets: true, values: false }, (offset) => offsets.push(offset as number));
        return offsets.length;
      },
      get: (index) =>
        new Promise((resolve, reject) => {
          log.get(offsets[index]!, (error, value) => {
            if (error === null || error === undefined) resolve(value);
            else reject(error);
          });
        }),
      scan: (visit) =>
        stream(log, { offsets: false, values: true }, (value) => {
          visit(value as Buffer);
        }),
      close: () =>
        new Promise((resolve, reject) => {
          log.close((error) => {
            if (error === null || error === undefined) resolve();
            else reject(error);
          });
        }),
    };
  },
};

function stream(
  log: Log,
  options: { offsets: boolean; values: boolean },
  visit: (entry: number | Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    log.stream(options).pipe({
      paused: false,
      write: visit,
      end: (error) => {
        // It ends with `true` at the end of the log.
        if (error instanceof Error) reject(error);
        else resolve();
      },
    });
  });
}
