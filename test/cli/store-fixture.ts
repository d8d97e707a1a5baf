/** Small stores for the command line: with its defaults a store takes 128 MiB of log. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { open, type OpenOptions, type RecordInput, type Store } from '../../src/index.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../support/temporary-directory.ts';

export const SMALL_WAL: { readonly slots: number; readonly slotBytes: number } = { slots: 2, slotBytes: 1024 * 1024 };
const WRITER: string = join(import.meta.dirname, 'writer-process.js');

export interface StoreFixture extends TemporaryDirectory {
  /** The store's directory. */
  readonly store: string;
}

/** A store that holds `streams`, closed. */
export async function storeWith(streams: Readonly<Record<string, readonly RecordInput[]>>): Promise<StoreFixture> {
  const directory = temporaryDirectory();
  const store = join(directory.path, 'store');
  await withStore({ dir: store }, async (opened) => {
    for (const [name, records] of Object.entries(streams)) {
      await (await opened.stream(name)).appendMany(records);
    }
  });
  return { ...directory, store };
}

/** Opens the store for a moment. */
export async function withStore<T>(options: OpenOptions, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await open({ wal: SMALL_WAL, ...options });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** A process that has the store open for writing, and never flushes by itself. */
export interface RunningWriter {
  /** As a power switch would, with what is in its log only. */
  kill(): Promise<void>;
}

/** Starts a writer that has put `settled` records into segments of the stream, and `unflushed` more into its log. */
export async function startWriter(
  dir: string,
  stream: string,
  settled: number,
  unflushed: number,
): Promise<RunningWriter> {
  const child: ChildProcessByStdio<null, Readable, null> = spawn(
    process.execPath,
    [WRITER, dir, stream, String(settled), String(unflushed)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve());
    child.once('close', () => reject(new Error('the writer ended before it was ready')));
  });
  return {
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
