/** Readers that stand open while what they were going to read is removed, cut, or moved into segments. */
import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';
import type { RecordBatch, Store, Stream } from '../../src/index.ts';
import { until } from '../support/child-processes.ts';
import { coded, collect, numbered, openStore, StoreFolder, texts } from '../support/test-store.ts';

type Batches = AsyncGenerator<RecordBatch, undefined>;

/** Appends `counts` records, each in a run of its own. */
async function inRuns(store: Store, stream: Stream, counts: readonly number[]): Promise<void> {
  for (const count of counts) {
    const { nextOffset } = await stream.info();
    await stream.appendMany(numbered(count, 'old ', nextOffset));
    await store.flush();
  }
}

async function offsets(batches: Batches): Promise<number[]> {
  return (await collect(batches)).flatMap((batch) => [...batch].map(({ offset }) => offset));
}

suite('a trim beyond everything that segments hold', () => {
  for (const [name, open] of [
    ['of a reader that stands below', true],
    ['of one that begins below', false],
  ] as const) {
    test(`${name}, leads it on to records in memory, and it is told once`, async (t) => {
      const store = await openStore(t);
      const stream = await store.stream('a');
      await inRuns(store, stream, [5, 5]);
      const skipped: number[][] = [];
      const batches = stream.readBatches({
        from: 0,
        onTrimmed: 'skip',
        skipped: (from, to) => skipped.push([from, to]),
        limit: open ? 8 : 3,
        follow: true,
      });
      if (open) await batches.next();
      await stream.trim(10);
      const rest = offsets(batches);
      // Wakes it while there is nothing to read.
      await (await store.stream('b')).appendMany(numbered(3));
      await stream.appendMany(numbered(3, '', 10));
      assert.deepEqual(await rest, [10, 11, 12]);
      assert.deepEqual(skipped, [[open ? 5 : 0, 10]]);
    });
  }
});

test('from a timestamp, a reader misses none of the records behind a truncation, in memory or flushed', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  const stamped = (count: number, at: (index: number) => number): { value: string; timestamp: number }[] =>
    Array.from({ length: count }, (_, index) => ({ value: 'x', timestamp: at(index) }));
  for (let run = 0; run < 5; run += 1) {
    await stream.appendMany(stamped(10, (index) => 100 + 10 * run + index));
    await store.flush();
  }
  await stream.truncate({ after: 29 });
  await stream.appendMany(stamped(20, (index) => 130 + 3 * index));
  for (const place of ['memory', 'segments']) {
    const all = await collect(stream.read());
    for (let timestamp = 95; timestamp < 195; timestamp += 1) {
      const [found] = await collect(stream.read({ from: { timestamp }, limit: 1 }));
      const expected = all.find((record) => record.timestamp >= timestamp);
      assert.equal(found?.offset, expected?.offset, `${timestamp} with the end in ${place}`);
    }
    await store.flush();
  }
});

/** A reader that has the first of five runs and coordinates of the others. */
async function standing(store: Store): Promise<Batches> {
  const batches = (await store.stream('a')).readBatches();
  assert.equal((await batches.next()).value?.nextOffset, 10);
  return batches;
}

const REMOVALS: Record<string, readonly [(store: Store, stream: Stream) => Promise<unknown>, RegExp]> = {
  'a trim': [(_, stream) => stream.trim(40), /OUT_OF_RANGE/],
  retention: [
    async (store, stream) => {
      await stream.configure({ retention: { maxBytes: 1 } });
      await store.compact();
    },
    /OFFSET_OUT_OF_RANGE/,
  ],
  deletion: [(store) => store.deleteStream('a'), /STREAM_NOT_FOUND/],
  'deletion and a new stream of that name': [
    async (store) => {
      await store.deleteStream('a');
      await (await store.stream('a')).append('another');
      await store.flush();
    },
    /STREAM_NOT_FOUND/,
  ],
  'a truncation': [
    async (store, stream) => {
      await stream.truncate({ after: 4 });
      await store.flush();
    },
    /TRUNCATED/,
  ],
  'a truncation, and new records': [
    async (store, stream) => {
      await stream.truncate({ after: 4 });
      await inRuns(store, stream, [20, 30]);
    },
    /TRUNCATED/,
  ],
};

suite('a reader between two batches is given nothing that was removed meanwhile by', () => {
  for (const [name, [remove, code]] of Object.entries(REMOVALS)) {
    test(name, async (t) => {
      const store = await openStore(t);
      const stream = await store.stream('a');
      await inRuns(store, stream, [10, 10, 10, 10, 10]);
      const batches = await standing(store);
      await remove(store, stream);
      await assert.rejects(batches.next(), { code });
    });

    test(`${name}, of another process, once that was seen`, async (t) => {
      const { store, stream, reader } = await twoProcesses(t);
      await inRuns(store, stream, [10, 10, 10, 10, 10]);
      await seesAsMuch(reader, stream);
      const batches = await standing(reader);
      await remove(store, stream);
      await seesAsMuch(reader, await store.stream('a'));
      await assert.rejects(batches.next(), { code });
    });
  }

  test('a trim below, which takes nothing from it', async (t) => {
    const store = await openStore(t);
    const stream = await store.stream('a');
    await inRuns(store, stream, [10, 10, 10]);
    const batches = await standing(store);
    for (const beforeOffset of [5, 10]) await stream.trim(beforeOffset);
    assert.deepEqual(
      await offsets(batches),
      Array.from({ length: 20 }, (_, index) => 10 + index),
    );
  });
});

async function twoProcesses(t: TestContext): Promise<{ store: Store; stream: Stream; reader: Store }> {
  const folder = new StoreFolder(t);
  const store = await folder.open();
  const stream = await store.stream('a');
  return { store, stream, reader: await folder.open({ readOnly: true }) };
}

/** Waits until the reader knows what the writer does. */
async function seesAsMuch(reader: Store, stream: Stream): Promise<void> {
  const { firstOffset, nextOffset, epoch } = await stream.info();
  await until('the reader to catch up', async () => {
    const seen = await (await reader.findStream('a'))?.info();
    return seen?.firstOffset === firstOffset && seen.nextOffset === nextOffset && seen.epoch === epoch;
  });
}

test('in another process, a stream that was cut ends where it was cut', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open();
  const stream = await store.stream('a');
  await inRuns(store, stream, [10]);
  const reader = await folder.open({ readOnly: true });
  const seen = await reader.stream('a');
  assert.equal((await seen.info()).nextOffset, 10);
  await stream.truncate({ after: 4 });
  await store.flush();
  await until('the cut', async () => (await seen.info()).epoch === 1);
  assert.equal((await seen.info()).nextOffset, 5);
  await assert.rejects(collect(seen.read({ from: 6 })), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE', '6', '5'));
});

suite('a reader that has not begun yet', () => {
  test('from the end, misses nothing behind a truncation that came while it was on its way', async (t) => {
    const store = await openStore(t);
    for (let turns = 0; turns < 24; turns += 1) {
      const stream = await store.stream(`after ${turns} turns`);
      await stream.appendMany(numbered(10, 'old '));
      // One that began before the truncation stood behind its cut.
      const read = collect(stream.read({ from: 'next', follow: true, limit: 3 })).catch(
        coded('ERR_MILLRACE_STREAM_TRUNCATED'),
      );
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      await stream.truncate({ after: 4 });
      await stream.appendMany(numbered(20, 'new ', 5));
      const records = await read;
      if (records === true) continue;
      const found = records.map(({ offset }) => offset);
      assert.deepEqual(found, [5, 6, 7], stream.name);
    }
  });

  test('at the end in another process, is told when that was cut and grew again', async (t) => {
    const { store, stream, reader } = await twoProcesses(t);
    await inRuns(store, stream, [10]);
    await seesAsMuch(reader, stream);
    const followers = ['next', 10, { timestamp: Date.now() + 60_000 }] as const;
    const seen = await reader.stream('a');
    const reads = followers.map((from) =>
      assert.rejects(collect(seen.read({ from, follow: true, limit: 1 })), coded('ERR_MILLRACE_STREAM_TRUNCATED')),
    );
    await stream.truncate({ after: 4 });
    await stream.appendMany(numbered(20, 'new ', 5).map((value) => ({ value, timestamp: Date.now() + 120_000 })));
    await store.flush();
    await Promise.all(reads);
  });

  test('at the end in another process, goes on there when nothing in front of it was cut', async (t) => {
    const { store, stream, reader } = await twoProcesses(t);
    await inRuns(store, stream, [10]);
    await seesAsMuch(reader, stream);
    const read = texts((await reader.stream('a')).read({ from: 'next', follow: true, limit: 2 }));
    await stream.truncate({ after: 9 });
    await stream.appendMany(['new 10', 'new 11']);
    await store.flush();
    assert.deepEqual(await read, ['new 10', 'new 11']);
  });

  test('behind records of a truncation in the ring, is not taken for one that was cut', async (t) => {
    const store = await openStore(t);
    const stream = await store.stream('a');
    await inRuns(store, stream, [10]);
    await stream.truncate({ after: 4 });
    await stream.appendMany(numbered(5, 'new ', 5));
    const batches = stream.readBatches({ from: 10, follow: true });
    const next = batches.next();
    await store.flush();
    await stream.append('new 10');
    assert.deepEqual(
      Array.from((await next).value ?? [], ({ value }) => String(value)),
      ['new 10'],
    );
    await batches.return(undefined);
  });
});
