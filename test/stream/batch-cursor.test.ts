import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import type { RecordBatch, Store, Stream, StreamRecord } from '../../src/index.ts';
import { coded, collect, numbered, openStore, SMALL_WAL, texts } from '../support/test-store.ts';

/** Takes records until `count` have come. */
async function take(records: AsyncIterable<StreamRecord>, count: number): Promise<StreamRecord[]> {
  const taken: StreamRecord[] = [];
  if (count === 0) return taken;
  for await (const record of records) {
    taken.push(record);
    if (taken.length === count) break;
  }
  return taken;
}

function assertDense(records: readonly StreamRecord[], from = 0): void {
  for (const [index, { offset, value }] of records.entries()) {
    assert.equal(offset, from + index, 'offsets follow each other');
    assert.equal(value?.toString(), `record ${offset}`);
  }
}

test('followers see every record once and in order while slots fill, flush and are used again', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  const total = 1_500;
  await stream.appendMany(numbered(2));
  const followers = [0, 1, 2].map((from) => take(stream.read({ from, follow: true }), total - from));
  const others = await store.stream('others');
  for (let offset = 2; offset < total;) {
    const count = Math.min(1 + (offset % 7), total - offset);
    await Promise.all([stream.appendMany(numbered(count, 'record ', offset)), others.append(Buffer.alloc(2_000))]);
    offset += count;
  }
  for (const [from, follower] of followers.entries()) {
    const records = await follower;
    assert.equal(records.length, total - from);
    assertDense(records, from);
  }
  assert.ok((store.stats().flush?.segments ?? 0) > 3, 'slots were flushed meanwhile');
});

test('readers that start at any moment meet neither a gap nor a duplicate', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  const reads: Promise<StreamRecord[]>[] = [];
  let acknowledged = 0;
  for (let round = 0; round < 150; round += 1) {
    const first = await stream.appendMany(numbered(9, 'record ', acknowledged));
    assert.equal(first, acknowledged);
    acknowledged += 9;
    if (round % 10 === 3) void store.flush();
    if (round % 5 === 0) {
      const expected = acknowledged;
      reads.push(
        collect(stream.read()).then((records) => {
          assert.ok(records.length >= expected, 'what was acknowledged before the read is in it');
          return records;
        }),
      );
    }
  }
  for (const records of await Promise.all(reads)) assertDense(records);
});

test('a reader of few records takes little of the log at once, and gets what every reader gets', async (t) => {
  const store = await openStore(t, { wal: { slots: 2, slotBytes: 8 * 1024 * 1024, flushInterval: 3_600_000 } });
  const stream = await store.stream('a');
  const records = Array.from({ length: 40_000 }, (_, index) => `${Math.sin(index)} `.repeat(5));
  await stream.appendMany(records);
  const [all, few] = [await collect(stream.readBatches()), await collect(stream.readBatches({ limit: 1_000 }))];
  const longest = (batches: readonly RecordBatch[]): number => Math.max(...batches.map(({ frameBytes }) => frameBytes));
  assert.ok(longest(all) > 8 * 64 * 1024, `${longest(all)}`);
  assert.ok(longest(few) <= 64 * 1024, `${longest(few)}`);
  for (const place of ['log', 'segments']) {
    for (const limit of [1, 100, 1_024, 1_025]) {
      const read = await texts(stream.read({ from: 777, limit }));
      assert.deepEqual(read, records.slice(777, 777 + limit), `${limit} records of the ${place}`);
    }
    await store.flush();
  }
});

test('a reader of few records takes little of a segment at once', async (t) => {
  const store = await openStore(t, { wal: { slots: 2, slotBytes: 8 * 1024 * 1024, flushInterval: 3_600_000 } });
  const stream = await store.stream('a', { compression: 'none' });
  await stream.appendMany(numbered(40_000, 'x'.repeat(100)));
  await store.flush();
  const bytesRead = (): number => store.stats().requests.read?.bytes.read ?? 0;
  const bytesOf = async (limit: number): Promise<number> => {
    const earlier = bytesRead();
    assert.equal((await texts(stream.read({ limit }))).length, limit);
    return bytesRead() - earlier;
  };
  const [few, many] = [await bytesOf(1_024), await bytesOf(1_025)];
  assert.ok(few > 0 && few <= 512 * 1024, `${few}`);
  assert.ok(many >= 1024 * 1024, `${many}`);
});

test('a follower is given no record before its append could have been acknowledged', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  const appends = numbered(300).map((text) => stream.append(text));
  for await (const { offset } of stream.read({ follow: true, limit: appends.length })) {
    assert.ok(offset < (await stream.info()).durableOffset);
  }
  assert.deepEqual(
    await Promise.all(appends),
    appends.map((_, offset) => offset),
  );
});

test('an abort ends a reader that waits, with the reason as the cause', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  await stream.append('record 0');
  const reason = new Error('enough');
  for (const read of [
    (signal: AbortSignal) => collect(stream.read({ follow: true, signal })),
    (signal: AbortSignal) => collect(stream.readBatches({ follow: true, signal })),
  ]) {
    const controller = new AbortController();
    const reading = read(controller.signal);
    await sleep(20);
    controller.abort(reason);
    await assert.rejects(reading, (error: Error) => coded('ERR_MILLRACE_ABORTED')(error) && error.cause === reason);
    await assert.rejects(read(controller.signal), coded('ERR_MILLRACE_ABORTED'));
  }
});

test('an abort in the middle of a batch ends the reading with the next record', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  await stream.appendMany(numbered(100));
  const controller = new AbortController();
  let seen = 0;
  const reading = async (): Promise<void> => {
    for await (const { offset } of stream.read({ signal: controller.signal })) {
      seen += 1;
      if (offset === 9) controller.abort();
    }
  };
  await assert.rejects(reading(), coded('ERR_MILLRACE_ABORTED'));
  assert.equal(seen, 10);
});

test('leaving a following loop, or returning its iterator while it waits, ends it', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  await stream.append('record 0');
  for await (const record of stream.read({ follow: true })) {
    assert.equal(record.offset, 0);
    break;
  }
  const iterator = stream.read({ follow: true });
  const first = await iterator.next();
  assert.equal(first.done === true ? undefined : first.value.offset, 0);
  const waiting = iterator.next();
  assert.deepEqual(await iterator.return?.(), { value: undefined, done: true });
  assert.deepEqual(await waiting, { value: undefined, done: true });
  assert.deepEqual(await iterator.next(), { value: undefined, done: true });
});

test('closing the store ends readers that wait, and readers that are asked for more', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  await stream.append('record 0');
  const waiting = collect(stream.read({ follow: true }));
  const suspended = stream.readBatches();
  await suspended.next();
  await sleep(10);
  const closing = store.close();
  await assert.rejects(waiting, coded('ERR_MILLRACE_CLOSED'));
  await assert.rejects(suspended.next(), coded('ERR_MILLRACE_CLOSED'));
  await closing;
});

test('deleting a stream ends readers that wait at its end', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  await stream.append('record 0');
  const waiting = collect(stream.read({ follow: true }));
  await sleep(10);
  await store.deleteStream('a');
  await assert.rejects(waiting, coded('ERR_MILLRACE_STREAM_NOT_FOUND'));
});

test('a slow reader is told when a trim overtakes it, or goes on where it may', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  await fill(store, stream, 0, 300);
  const told = stream.readBatches({ from: 0 });
  const skipped: number[][] = [];
  const goesOn = stream.readBatches({
    from: 0,
    onTrimmed: 'skip',
    skipped: (from, to) => {
      skipped.push([from, to]);
    },
  });
  await told.next();
  const first = (await goesOn.next()).value as RecordBatch;
  await fill(store, stream, 300, 600);
  await stream.trim(500);
  await assert.rejects(collect(told), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE', '500'));
  const rest = (await collect(goesOn)).flatMap((batch) => [...batch]);
  // What the reader had already found may still come; then it skips once, from there to the cut.
  const before = rest.filter(({ offset }) => offset < 500);
  assertDense(before, first.nextOffset);
  assertDense(rest.slice(before.length), 500);
  assert.equal(rest.at(-1)?.offset, 599);
  assert.deepEqual(skipped, [[first.nextOffset + before.length, 500]]);
});

/** Appends so that records lie in several segments and in memory. */
async function fill(store: Store, stream: Stream, from: number, to: number): Promise<void> {
  for (let offset = from; offset < to; offset += 50) {
    await stream.appendMany(numbered(50, 'record ', offset));
    if (offset % 100 === 0) await store.flush();
  }
}

test('attaching at the oldest record while trims and retention remove it never fails', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  let done = false;
  const reader = async (): Promise<number> => {
    let attached = 0;
    while (!done) {
      for (const from of ['first', { timestamp: 0 }, { reference: 'nobody' }] as const) {
        const [record] = await collect(stream.read({ from, limit: 1 }));
        if (record !== undefined) assert.equal(record.value?.toString(), `record ${record.offset}`);
      }
      attached += 1;
      await new Promise(setImmediate);
    }
    return attached;
  };
  const readers = [reader(), reader(), reader()];
  for (let offset = 0; offset < 1_200; offset += 40) {
    await stream.appendMany(numbered(40, 'record ', offset));
    await stream.trim(offset + 20);
  }
  done = true;
  for (const attached of await Promise.all(readers)) assert.ok(attached > 0);
});

test('any mix of appends, flushes and trims reads as a list would', async (t) => {
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ append: fc.integer({ min: 1, max: 30 }), bytes: fc.constantFrom(0, 10, 3_000) }),
    },
    { weight: 2, arbitrary: fc.constant({ flush: true }) },
    { weight: 1, arbitrary: fc.record({ trim: fc.double({ min: 0, max: 1, noNaN: true }) }) },
    { weight: 3, arbitrary: fc.record({ read: fc.double({ min: 0, max: 1, noNaN: true }), limit: fc.nat(50) }) },
  );
  const store = await openStore(t, { wal: { ...SMALL_WAL, slots: 3 } });
  let name = 0;
  const property = fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
    const stream = await store.stream(`stream ${(name += 1)}`);
    const model: string[] = [];
    let first = 0;
    for (const action of steps) {
      if ('append' in action) {
        const values = numbered(action.append, 'x'.repeat(action.bytes), model.length);
        assert.equal(await stream.appendMany(values), model.length);
        model.push(...values);
      } else if ('flush' in action) {
        await store.flush();
      } else if ('trim' in action) {
        first = Math.max(first, Math.floor(action.trim * model.length));
        await stream.trim(first);
      } else {
        const from = first + Math.floor(action.read * (model.length - first));
        const { limit } = action;
        assert.deepEqual(await texts(stream.read({ from, limit })), model.slice(from, from + limit));
      }
    }
    assert.deepEqual(await texts(stream.read()), model.slice(first));
    const info = await stream.info();
    assert.equal(info.firstOffset, first);
    assert.equal(info.nextOffset, model.length);
    assert.equal(info.records, model.length - first);
  });
  await fc.assert(property, { numRuns: 25 });
});
