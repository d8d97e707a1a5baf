/** Objects that are whole, and not the ones that were committed: exchanged, or of another store. */
import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isMillraceError } from '../../src/index.ts';
import { collect, numbered, StoreFolder, texts } from '../support/test-store.ts';

/** Two objects of ten records each; returns their paths, oldest first. */
async function fill(work: StoreFolder, text: string): Promise<[string, string]> {
  const store = await work.open();
  const stream = await store.stream('s');
  for (const from of [0, 10]) {
    await stream.appendMany(numbered(10, text, from));
    await store.flush();
  }
  await store.close();
  const paths = readdirSync(work.path('objects'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort();
  assert.equal(paths.length, 2);
  return [paths[0] ?? '', paths[1] ?? ''];
}

async function assertNoticed(work: StoreFolder, objects: readonly string[]): Promise<void> {
  const store = await work.open({ cacheBytes: 0 });
  const { problems } = await store.verify();
  assert.deepEqual([...new Set(problems.map(({ where }) => where))].sort(), [...objects].sort());
  const stream = await store.stream('s');
  await assert.rejects(collect(stream.read()), (error) => {
    assert.ok(isMillraceError(error) && objects.some((key) => error.message.includes(key)), String(error));
    return error.code === 'ERR_MILLRACE_SEGMENT_CORRUPT' || error.code === 'ERR_MILLRACE_FOREIGN_FILE';
  });
  await store.close();
}

const keyOf = (path: string): string => path.slice(path.indexOf('segments/'));

test('two objects that were exchanged are noticed by readers and by verify, which name both', async (t) => {
  const work = new StoreFolder(t);
  const [first, second] = await fill(work, 'record ');
  renameSync(first, `${first}.aside`);
  renameSync(second, first);
  renameSync(`${first}.aside`, second);
  await assertNoticed(work, [keyOf(first), keyOf(second)]);
});

test('an object of another store is noticed, though it holds the same offsets of the same stream', async (t) => {
  const work = new StoreFolder(t);
  const other = new StoreFolder(t);
  const [first] = await fill(work, 'record ');
  const [foreign] = await fill(other, 'strange');
  copyFileSync(foreign, first);
  await assertNoticed(work, [keyOf(first)]);
});

test('an older object of the same store in the place of another is noticed', async (t) => {
  const work = new StoreFolder(t);
  const [first, second] = await fill(work, 'record ');
  copyFileSync(first, second);
  await assertNoticed(work, [keyOf(second)]);
  const store = await work.open();
  assert.deepEqual(await texts((await store.stream('s')).read({ limit: 10 })), numbered(10), 'what is whole is read');
});
