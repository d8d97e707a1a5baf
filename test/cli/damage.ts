/** Finds files of a store and damages them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { succeed } from './cli-process.ts';
import type { StoreFixture } from './store-fixture.ts';

/** The store's files whose path ends so, sorted. */
export function filesOf(store: string, ending: string): string[] {
  const found = readdirSync(store, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith(ending));
  assert.ok(found.length > 0, `a file ending in ${ending}`);
  return found.sort().map((path) => join(store, path));
}

export function firstFileOf(store: string, ending: string): string {
  return filesOf(store, ending)[0] as string;
}

/** Flips every bit of the byte at `position`, counted from the end when negative. */
export function flipByte(path: string, position: number): void {
  const bytes = readFileSync(path);
  const at = position < 0 ? bytes.length + position : position;
  assert.ok(at >= 0 && at < bytes.length, 'a byte of the file');
  bytes[at] = (bytes[at] as number) ^ 0xff;
  writeFileSync(path, bytes);
}

/** Where the log of the store has its block number `index`. */
export async function blockOf(fixture: StoreFixture, index: number): Promise<{ file: string; position: number }> {
  for (const file of filesOf(fixture.store, '.wal')) {
    const dump = JSON.parse(await succeed(['dump', file, '--json'])) as { blocks: { position: number }[] };
    const block = dump.blocks[index];
    if (block !== undefined) return { file, position: block.position };
  }
  throw new Error(`no slot has a block ${index}`);
}
