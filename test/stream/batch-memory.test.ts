/** What a reader of batches may keep, and for how long. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { SeededRandom } from '../../src/base/random.ts';
import type { RecordBatch, Stream } from '../../src/index.ts';
import { coded, openStore } from '../support/test-store.ts';

const RECORDS = 3_000;
/** Several reads of a segment, with chunks that lie across two of them. */
const SIZES = { from: 100, to: 3_000 };

/** Text compresses, noise does not: such chunks are stored as they are, also where compression was asked for. */
async function filled(t: TestContext, kind: 'text' | 'noise' | 'mixed'): Promise<{ stream: Stream; values: Buffer[] }> {
  const store = await openStore(t, { wal: { slots: 4, slotBytes: 8 * 1024 * 1024, flushInterval: 3_600_000 } });
  const stream = await store.stream(kind);
  const random = new SeededRandom(5);
  const values = Array.from({ length: RECORDS }, (_, index) => {
    const length = SIZES.from + (random.uint32() % (SIZES.to - SIZES.from));
    const noise = kind === 'noise' || (kind === 'mixed' && index % 1_000 < 500);
    return noise ? Buffer.from(random.bytes(length)) : Buffer.alloc(length, `record ${index} of many `);
  });
  await stream.appendMany(values.slice(0, RECORDS - 100));
  await store.flush();
  await stream.appendMany(values.slice(RECORDS - 100));
  return { stream, values };
}

function bufferOf(batch: RecordBatch): ArrayBufferLike | undefined {
  return batch.value(0)?.buffer;
}

for (const kind of ['text', 'noise', 'mixed'] as const) {
  test(`values of ${kind} stay what they were while reading goes on, by one reader and by others`, async (t) => {
    const { stream, values } = await filled(t, kind);
    const kept = async (): Promise<(Buffer | null)[]> => {
      const batches: RecordBatch[] = [];
      for await (const batch of stream.readBatches()) batches.push(batch);
      return batches.flatMap((batch) => Array.from({ length: batch.length }, (_, index) => batch.value(index)));
    };
    const readings = await Promise.all([kept(), kept(), kept()]);
    readings.push(await kept());
    for (const reading of readings) assert.ok(Buffer.concat(reading as Buffer[]).equals(Buffer.concat(values)));
  });

  test(`with \`reuse\`, batches of ${kind} hold their records until the next one is asked for`, async (t) => {
    const { stream, values } = await filled(t, kind);
    const copied = async (): Promise<Buffer[]> => {
      const copies: Buffer[] = [];
      for await (const batch of stream.readBatches({ reuse: true })) {
        for (const { offset, value } of batch) {
          assert.equal(offset, copies.length);
          copies.push(Buffer.from(value ?? ''));
        }
      }
      return copies;
    };
    for (const copies of await Promise.all([copied(), copied()])) assert.deepEqual(copies, values);
  });
}

test('with `reuse`, one batch after the other lies in the same memory, and without it none', async (t) => {
  const { stream } = await filled(t, 'text');
  const count = async (reuse: boolean): Promise<{ batches: number; buffers: number }> => {
    const buffers = new Set<unknown>();
    let batches = 0;
    for await (const batch of stream.readBatches({ reuse, limit: RECORDS - 100 })) {
      batches += 1;
      buffers.add(bufferOf(batch));
    }
    return { batches, buffers: buffers.size };
  };
  const apart = await count(false);
  assert.equal(apart.buffers, apart.batches);
  const together = await count(true);
  assert.equal(together.batches, apart.batches);
  assert.ok(together.buffers <= together.batches / 2, `${together.buffers} of ${together.batches}`);
});

test('`reuse` is for batches alone: a record that is handed out by itself stays', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  const reuse = { reuse: true } as object;
  assert.throws(() => stream.read(reuse), coded('ERR_MILLRACE_INVALID_ARGUMENT'));
  const number = { reuse: 1 } as object;
  assert.throws(() => stream.readBatches(number), coded('ERR_MILLRACE_INVALID_ARGUMENT'));
});
