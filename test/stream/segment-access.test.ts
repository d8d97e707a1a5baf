import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { loadChecksum } from '../../src/codec/checksum.ts';
import type { FoundRun } from '../../src/coordinator/coordinator.ts';
import { storedRun } from './stored-run.ts';

before(loadChecksum);

test('point reads that miss the same chunk at once read it once', async () => {
  const { segments, run, reads } = await storedRun(2);
  await segments.find(run, 1);
  await segments.find(run, 0);
  const earlier = reads();
  const found = await Promise.all([0, 0, 0].map((offset) => segments.find(run, offset)));
  assert.equal(reads(), earlier + 1);
  for (const record of found) assert.equal(record?.value?.toString(), 'a');
});

test('a chunk that many missed at once takes its own bytes of the cache, and no more', async () => {
  const { segments, run, reads } = await storedRun(2);
  await Promise.all([0, 0, 0].map((offset) => segments.find(run, offset)));
  await segments.find(run, 1);
  await segments.find(run, 1);
  const earlier = reads();
  await segments.find(run, 0);
  await segments.find(run, 1);
  assert.equal(reads(), earlier, 'both chunks are in the cache that has room for two');
});

test('what is written into a record that was found is in no other record', async () => {
  const { segments, run } = await storedRun(2);
  for (let round = 0; round < 4; round += 1) {
    const [one, other] = await Promise.all([segments.find(run, 0), segments.find(run, 0)]);
    assert.deepEqual([one?.value?.toString(), other?.value?.toString()], ['a', 'a'], `round ${round}`);
    one?.value?.fill('x');
  }
});

test('a chunk that could not be read is read again for the next one who asks', async () => {
  const { segments, run } = await storedRun(2);
  const lost = { ...run, objectKey: 'segments/00/0000000000000002' };
  for (let attempt = 0; attempt < 2; attempt += 1) {
    await assert.rejects(segments.find(lost, 0), { code: 'ERR_MILLRACE_OBJECT_NOT_FOUND' });
  }
  assert.equal((await segments.find(run, 0))?.value?.toString(), 'a');
});

test('a scan refuses chunks that are intact and of another run', async () => {
  const { segments, run } = await storedRun(2);
  const scanned = async (claimed: Partial<FoundRun>, from: number): Promise<number> => {
    let records = 0;
    for await (const batch of segments.scan({ ...run, ...claimed }, from)) records += batch.length;
    return records;
  };
  assert.equal(await scanned({}, 0), 2);
  let seen = 0;
  const tooShort = segments.scan({ ...run, nextOffset: 1, endOffset: 1 }, 0);
  await assert.rejects(
    (async () => {
      for await (const batch of tooShort) seen += batch.length;
    })(),
    { code: 'ERR_MILLRACE_SEGMENT_CORRUPT' },
  );
  assert.ok(seen <= 1, 'nothing behind the end was passed on');
  const corrupt = { code: 'ERR_MILLRACE_SEGMENT_CORRUPT' };
  // Chunks of offsets that were asked for in vain must not pass for a run without records.
  await assert.rejects(scanned({ firstOffset: 2, nextOffset: 4, endOffset: 4 }, 2), corrupt);
  await assert.rejects(scanned({ nextOffset: 3, endOffset: 3 }, 0), corrupt);
  await assert.rejects(scanned({ streamId: run.streamId + 1 }, 0), corrupt);
});

test('a scan reads in pieces of the size that it is told', async () => {
  const { segments, run, reads } = await storedRun(2);
  const readsOf = async (options: { readBytes?: number }): Promise<number> => {
    const earlier = reads();
    const values: (string | undefined)[] = [];
    for await (const batch of segments.scan(run, 0, options)) {
      for (const { value } of batch) values.push(value?.toString());
    }
    assert.deepEqual(values, ['a', 'b']);
    return reads() - earlier;
  };
  assert.equal(await readsOf({}), 1);
  assert.equal(await readsOf({ readBytes: 64 }), Math.ceil(run.byteLength / 64));
});
