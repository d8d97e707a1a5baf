/** Readers that attach while the objects that they would begin with are deleted, and while nothing is left at all. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { isMillraceError, type ReadFrom, type Stream } from '../../src/index.ts';
import { collect, numbered, StoreFolder } from '../support/test-store.ts';

const ROUNDS = 24;
const RECORDS = 20;
const DELETE_AT_ONCE = { compaction: { deleteGrace: 0 }, cacheBytes: 0 };

/** Attaches in every way until told to stop; returns how often, and how often what was asked for was gone. */
async function attachUntil(stream: Stream, isDone: () => boolean): Promise<{ attached: number; gone: number }> {
  let attached = 0;
  let gone = 0;
  while (!isDone()) {
    const { firstOffset } = await stream.info();
    const places: readonly ReadFrom[] = ['first', 'last', { timestamp: 0 }, { reference: 'nobody' }, firstOffset];
    for (const from of places) {
      try {
        for (const record of await collect(stream.read({ from, limit: 1 }))) {
          assert.equal(record.value?.toString(), `record ${record.offset}`);
          attached += 1;
        }
      } catch (error) {
        // Only an offset that is named can be gone: the other places are wherever the stream begins or ends by then.
        assert.ok(
          typeof from === 'number' && isMillraceError(error, 'ERR_MILLRACE_OFFSET_OUT_OF_RANGE'),
          String(error),
        );
        gone += 1;
      }
    }
    await new Promise(setImmediate);
  }
  return { attached, gone };
}

for (const where of ['the store', 'a reader beside it'] as const) {
  test(`whoever attaches to ${where} while retention deletes the oldest objects begins at a record that is there`, async (t) => {
    const folder = new StoreFolder(t);
    const store = await folder.open(DELETE_AT_ONCE);
    const stream = await store.stream('a', { retention: { maxBytes: 10 * RECORDS } });
    const beside = where === 'the store' ? store : await folder.open({ readOnly: true, cacheBytes: 0 });
    let done = false;
    const readers = Array.from({ length: 3 }, async () => attachUntil(await beside.stream('a'), () => done));
    for (let round = 0; round < ROUNDS; round += 1) {
      await stream.appendMany(numbered(RECORDS, 'record ', round * RECORDS));
      await store.flush();
      // Now and then nothing is left at all.
      if (round % 4 === 3) await stream.trim((round + 1) * RECORDS);
      await store.compact();
    }
    done = true;
    for (const { attached } of await Promise.all(readers)) assert.ok(attached > 0);
    assert.ok((store.stats().housekeeping?.deleted ?? 0) > ROUNDS / 2, 'objects went meanwhile');
  });
}

test('when the last stream is deleted, its objects go, and the store is empty', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open(DELETE_AT_ONCE);
  for (const name of ['a', 'b']) await (await store.stream(name)).appendMany(numbered(RECORDS));
  await store.flush();
  const segments = (): string[] =>
    existsSync(folder.path('objects'))
      ? readdirSync(folder.path('objects'), { recursive: true, encoding: 'utf8' }).filter((name) =>
          name.endsWith('.seg'),
        )
      : [];
  assert.equal(segments().length, 1);
  await store.deleteStream('a');
  await store.compact();
  assert.equal(segments().length, 1, 'another stream lives in it');
  await store.deleteStream('b');
  await store.compact();
  assert.deepEqual(segments(), []);
  assert.equal(store.stats().objects.committedBytes, 0);
  assert.deepEqual((await store.verify()).problems, []);
});
