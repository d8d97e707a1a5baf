/** What a store in another process can be told to do: arguments and answers are plain data. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { open, type OpenOptions, type Store } from '../../src/index.ts';
import { lockBySocket } from '../../src/store/lock.ts';

/** How one append ended. */
export type Outcome = { readonly offset: number } | { readonly code: string };

let store: Store | undefined;

function opened(): Store {
  if (store === undefined) throw new Error('no store is open');
  return store;
}

async function outcomeOf(append: Promise<number>): Promise<Outcome> {
  try {
    return { offset: await append };
  } catch (error) {
    return { code: (error as { code?: string }).code ?? String(error) };
  }
}

export const storeCommands = {
  open: async (options: OpenOptions): Promise<void> => {
    store = await open(options);
  },
  close: async (): Promise<void> => {
    await opened().close();
  },
  /** Appends one by one, without waiting in between; tells how each ended. */
  append: async (name: string, values: readonly string[]): Promise<Outcome[]> => {
    const stream = await opened().stream(name);
    return Promise.all(values.map((value) => outcomeOf(stream.append(value))));
  },
  appendMany: async (name: string, values: readonly string[]): Promise<Outcome> => {
    const stream = await opened().stream(name);
    return outcomeOf(stream.appendMany(values));
  },
  storeOffset: async (name: string, reference: string, offset: number): Promise<void> => {
    await (await opened().stream(name)).storeOffset(reference, offset, { durable: true });
  },
  createStream: async (name: string): Promise<void> => {
    await opened().stream(name);
  },
  flush: async (): Promise<void> => {
    await opened().flush();
  },
  trim: async (name: string, before: number): Promise<void> => {
    await (await opened().stream(name)).trim(before);
  },
  compact: async (): Promise<void> => {
    await opened().compact();
  },
  values: async (name: string): Promise<(string | undefined)[]> => {
    const values: (string | undefined)[] = [];
    for await (const { value } of (await opened().stream(name)).read()) values.push(value?.toString());
    return values;
  },
  get: async (name: string, offset: number): Promise<string | undefined> => {
    return (await (await opened().stream(name)).get(offset))?.value?.toString();
  },
  durableOffset: async (name: string): Promise<number> => {
    return (await (await opened().stream(name)).info()).durableOffset;
  },
  failure: async (): Promise<string | undefined> => opened().stats().wal?.failure,
  /** Waits until appends are refused, and tells why. */
  failed: async (): Promise<string> => {
    for (;;) {
      const failure = opened().stats().wal?.failure;
      if (failure !== undefined) return failure;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  },
  problems: async (): Promise<readonly unknown[]> => (await opened().verify()).problems,
  list: async (directory: string): Promise<string[]> => readdirSync(directory, { recursive: true, encoding: 'utf8' }),
  /** Writes a file of so many bytes, or as many as there is room for. */
  fill: async (path: string, bytes: number): Promise<void> => {
    try {
      writeFileSync(path, Buffer.alloc(bytes));
    } catch (error) {
      if ((error as { code?: string }).code !== 'ENOSPC') throw error;
    }
  },
  remove: async (path: string): Promise<void> => {
    rmSync(path);
  },
  descriptors: async (): Promise<number> => readdirSync('/proc/self/fd').length,
  lockBySocket: async (directory: string): Promise<void> => {
    await lockBySocket(directory);
  },
};

export type StoreCommands = typeof storeCommands;
