import assert from 'node:assert/strict';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { openStore } from '../support/test-store.ts';

const CHUNK_BYTES = 64 * 1024;
const CHUNKS = 1_024;

test('a pipeline of 64 MiB holds a few of them, however large its chunks are', async (t) => {
  const store = await openStore(t, { wal: { slots: 2, slotBytes: 1024 * 1024 }, compaction: false });
  const stream = await store.stream('file', { compression: 'none' });
  const target: Writable = stream.writable();
  let mostHeld = 0;
  function* chunks(): Generator<Buffer> {
    for (let index = 0; index < CHUNKS; index += 1) {
      mostHeld = Math.max(mostHeld, target.writableLength);
      yield Buffer.alloc(CHUNK_BYTES, index);
    }
  }
  await pipeline(Readable.from(chunks(), { highWaterMark: 1 }), target);
  assert.ok(mostHeld * CHUNK_BYTES <= 8 * 1024 * 1024, `${mostHeld} chunks were held`);
  const { records, userBytes } = await stream.info();
  assert.deepEqual([records, userBytes], [CHUNKS, CHUNKS * CHUNK_BYTES]);
});
