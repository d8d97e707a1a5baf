/** Stores in throw-away directories: every store that a test opened is closed, then the directory goes. */
import assert from 'node:assert/strict';
import { cpSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  type ErrorCode,
  isMillraceError,
  open,
  type OpenOptions,
  type Store,
  type WalOptions,
} from '../../src/index.ts';
import { atEnd } from './at-end.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The smallest ring: it is full after a few appends, so that tests meet flushes without writing much. */
export const SMALL_WAL: Required<Pick<WalOptions, 'slots' | 'slotBytes' | 'flushInterval'>> = {
  slots: 2,
  slotBytes: 64 * 1024,
  flushInterval: 3_600_000,
};

export class StoreFolder {
  /** Where the store is, or will be: nothing is there yet. */
  readonly dir: string;
  /** The directory around it. */
  readonly parent: string;
  readonly #stores: Store[] = [];

  constructor(t: TestContext) {
    const directory = temporaryDirectory();
    this.parent = directory.path;
    this.dir = join(directory.path, 'store');
    atEnd(t, async () => {
      // A test that failed midway may leave a store that cannot close; the first error is the one that counts.
      await Promise.allSettled(this.#stores.map((store) => store.close()));
      directory.remove();
    });
  }

  async open(options: Partial<OpenOptions> = {}): Promise<Store> {
    const store = await open({ dir: this.dir, wal: SMALL_WAL, ...options });
    this.#stores.push(store);
    return store;
  }

  /** Opens what a kill of the process would leave now. Nothing may be under way. */
  async openKilled(): Promise<Store> {
    const dir = join(this.parent, 'killed');
    cpSync(this.dir, dir, { recursive: true });
    return this.open({ dir });
  }

  path(...names: string[]): string {
    return join(this.dir, ...names);
  }
}

export function openStore(t: TestContext, options: Partial<OpenOptions> = {}): Promise<Store> {
  return new StoreFolder(t).open(options);
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** The values of records as text. */
export async function texts(
  records: AsyncIterable<{ readonly value: Buffer | null }>,
): Promise<(string | undefined)[]> {
  return (await collect(records)).map(({ value }) => value?.toString());
}

/** `text0`, `text1`, ... */
export function numbered(count: number, text = 'record ', from = 0): string[] {
  return Array.from({ length: count }, (_, index) => text + String(from + index));
}

/** For `assert.rejects` and `assert.throws`: a coded error whose message names something besides its code. */
export function coded(code: ErrorCode, ...mentions: (string | RegExp)[]): (error: unknown) => true {
  return (error) => {
    if (!isMillraceError(error))
      assert.fail(`expected ${code}, got ${String((error as Error | undefined)?.stack ?? error)}`);
    assert.equal(error.code, code, error.message);
    for (const mention of mentions) {
      if (typeof mention === 'string')
        assert.ok(error.message.includes(mention), `${error.message} mentions ${mention}`);
      else assert.match(error.message, mention);
    }
    return true;
  };
}

/**
 * Every file and folder below `root` with its size and time of change: equal before and after when nothing was written.
 */
export function listing(root: string): string[] {
  const entries: string[] = [];
  const visit = (path: string, name: string): void => {
    const stat = statSync(path);
    entries.push(`${name} ${stat.isDirectory() ? 'folder' : stat.size} ${stat.mtimeMs}`);
    if (stat.isDirectory()) for (const child of readdirSync(path).sort()) visit(join(path, child), join(name, child));
  };
  visit(root, '.');
  return entries;
}
