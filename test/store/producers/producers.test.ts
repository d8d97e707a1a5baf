import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, suite, test } from 'node:test';
import {
  attachProducer,
  isMillraceError,
  open,
  type OpenOptions,
  type ProducerHandle,
  type ProducerOptions,
  type Store,
} from '../../../src/index.ts';
import { inspectLog } from '../../../src/cli/log-inspection.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { ProducerWorker } from './producer-worker.ts';

const SMALL = { slots: 2, slotBytes: 256 * 1024 };

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function openSmall(path: string, options: Partial<OpenOptions> = {}): Promise<Store> {
  const store = await open({ dir: path, wal: SMALL, compaction: false, ...options });
  closing.push(() => store.close());
  return store;
}

function directory(): string {
  const made = temporaryDirectory();
  closing.push(() => {
    made.remove();
  });
  return made.path;
}

async function producerOf(store: Store): Promise<ProducerWorker> {
  const worker = await ProducerWorker.start(store);
  closing.push(() => worker.kill());
  return worker;
}

async function valuesOf(store: Store, name: string): Promise<string[]> {
  const values: string[] = [];
  for await (const { value } of (await store.stream(name)).read()) values.push(String(value));
  return values;
}

function numbered(count: number, prefix = 'v'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`);
}

suite('producers in other threads', () => {
  test('their appends are durable when acknowledged, and read in the store at once', async () => {
    const store = await openSmall(directory());
    const producer = await producerOf(store);
    await producer.do({ type: 'stream', name: 'a' });
    const values = numbered(500);
    assert.deepEqual(await producer.do({ type: 'append', name: 'a', values }), [...values.keys()]);
    assert.deepEqual(await valuesOf(store, 'a'), values);
    const stream = await store.stream('a');
    assert.equal(String((await stream.get(499))?.value), 'v499');
    const { records, nextOffset, durableOffset } = await stream.info();
    assert.deepEqual([records, nextOffset, durableOffset], [500, 500, 500]);
  });

  test('followers in the store receive what other threads append', async () => {
    const store = await openSmall(directory());
    const producer = await producerOf(store);
    await producer.do({ type: 'stream', name: 'a' });
    const received: string[] = [];
    const reading = (async () => {
      const stream = await store.stream('a');
      for await (const { value } of stream.read({ from: 0, follow: true, limit: 300 })) received.push(String(value));
    })();
    for (let group = 0; group < 3; group += 1) {
      await producer.do({ type: 'appendMany', name: 'a', values: numbered(100, `${group}-`) });
    }
    await reading;
    assert.deepEqual(received, [...numbered(100, '0-'), ...numbered(100, '1-'), ...numbered(100, '2-')]);
  });

  test('rings far smaller than what is appended go round and round', async () => {
    const store = await openSmall(directory());
    const producers = [await producerOf(store), await producerOf(store)];
    const large = Array.from({ length: 64 }, (_, index) => `${index}`.padEnd(8_192, '.'));
    const own = await store.stream('own');
    await Promise.all([
      ...producers.map(async (producer, index) => {
        await producer.do({ type: 'stream', name: `p${index}` });
        for (let turn = 0; turn < 4; turn += 1)
          await producer.do({ type: 'appendMany', name: `p${index}`, values: large });
      }),
      (async () => {
        for (let turn = 0; turn < 4; turn += 1) await own.appendMany(large);
      })(),
    ]);
    const all = [...large, ...large, ...large, ...large];
    for (const name of ['p0', 'p1', 'own']) assert.deepEqual(await valuesOf(store, name), all, name);
    assert.equal(store.stats().producers.length, 2);
    await store.flush();
    assert.deepEqual(
      store.stats().producers.map(({ slotsInUse, streams }) => [slotsInUse, streams]),
      [
        [0, 1],
        [0, 1],
      ],
    );
    assert.deepEqual((await store.verify()).problems, []);
  });

  test('a stream is in one lane at a time, and goes on in the next where it ended', async () => {
    const store = await openSmall(directory());
    const stream = await store.stream('a');
    await stream.appendMany(['m0', 'm1']);
    const [first, second] = [await producerOf(store), await producerOf(store)];
    await first.do({ type: 'stream', name: 'a' });
    await assert.rejects(stream.append('x'), { code: 'ERR_MILLRACE_STREAM_HELD', retryable: true });
    await assert.rejects(stream.appendMany(['x']), { code: 'ERR_MILLRACE_STREAM_HELD' });
    await assert.rejects(stream.truncate({ after: 0 }), { code: 'ERR_MILLRACE_STREAM_HELD' });
    await assert.rejects(stream.publisher('p').append(0, 'x'), { code: 'ERR_MILLRACE_STREAM_HELD' });
    await assert.rejects(store.deleteStream('a'), { code: 'ERR_MILLRACE_STREAM_HELD' });
    await assert.rejects(second.do({ type: 'stream', name: 'a' }), { code: 'ERR_MILLRACE_STREAM_HELD' });
    assert.equal(await first.do({ type: 'appendMany', name: 'a', values: ['f2', 'f3'] }), 2);
    await first.do({ type: 'release', name: 'a' });
    await assert.rejects(first.do({ type: 'append', name: 'a', values: ['x'] }), { code: 'ERR_MILLRACE_CLOSED' });
    await second.do({ type: 'stream', name: 'a' });
    assert.equal(await second.do({ type: 'appendMany', name: 'a', values: ['s4'] }), 4);
    await second.do({ type: 'close' });
    assert.equal(await stream.append('m5'), 5);
    assert.deepEqual(await valuesOf(store, 'a'), ['m0', 'm1', 'f2', 'f3', 's4', 'm5']);
  });

  test('consumers of a held stream store their offsets, which outlive the store', async () => {
    const path = directory();
    const store = await openSmall(path);
    const producer = await producerOf(store);
    await producer.do({ type: 'stream', name: 'a' });
    await producer.do({ type: 'appendMany', name: 'a', values: numbered(10) });
    const stream = await store.stream('a');
    await stream.storeOffset('billing', 6, { durable: true });
    await producer.do({ type: 'appendMany', name: 'a', values: numbered(10) });
    await stream.storeOffset('billing', 12, { durable: true });
    await stream.trim(3);
    assert.deepEqual(await stream.offsets(), [{ reference: 'billing', offset: 12, lag: 7 }]);
    await store.close();
    const again = await openSmall(path);
    const { firstOffset, records } = await (await again.stream('a')).info();
    assert.deepEqual([firstOffset, records], [3, 17]);
    assert.equal(await (await again.stream('a')).queryOffset('billing'), 12);
  });

  test('whoever was told of a record stores its offset and trims there, though the store’s thread was busy', async () => {
    const store = await openSmall(directory());
    const producer = await producerOf(store);
    await producer.do({ type: 'stream', name: 'a' });
    const stream = await store.stream('a');
    const done = new Int32Array(new SharedArrayBuffer(4));
    const appended = producer.do({ type: 'appendMany', name: 'a', values: numbered(10), done });
    // Blocked until then: nothing that would wake this thread for the records has run.
    Atomics.wait(done, 0, 0);
    const stored = stream.storeOffset('billing', 9);
    assert.equal(await appended, 0);
    await stored;
    assert.equal(await stream.queryOffset('billing'), 9);
    const more = producer.do({ type: 'appendMany', name: 'a', values: numbered(10), done });
    Atomics.wait(done, 0, 1);
    const trimmed = stream.trim(20);
    assert.equal(await more, 10);
    await trimmed;
    assert.equal((await stream.info()).firstOffset, 20);
    await assert.rejects(stream.storeOffset('billing', 20), { code: 'ERR_MILLRACE_OFFSET_OUT_OF_RANGE' });
  });

  test('what a thread had acknowledged outlives the thread, and its streams are free again', async () => {
    const store = await openSmall(directory());
    const producer = await producerOf(store);
    await producer.do({ type: 'stream', name: 'a' });
    const values = numbered(100);
    await producer.do({ type: 'appendMany', name: 'a', values });
    await producer.kill();
    const stream = await store.stream('a');
    let offset: number | undefined;
    // The end of the thread is noticed in time, not at once.
    while (offset === undefined) {
      offset = await stream.append('after').catch(async (error: unknown) => {
        assert.ok(isMillraceError(error, 'ERR_MILLRACE_STREAM_HELD'));
        await new Promise((resolve) => setTimeout(resolve, 5));
        return undefined;
      });
    }
    assert.equal(offset, 100);
    assert.deepEqual(await valuesOf(store, 'a'), [...values, 'after']);
    // The lane is used again, with its files.
    const next = await producerOf(store);
    assert.equal(store.stats().producers[0]?.lane, 1);
    await next.do({ type: 'stream', name: 'b' });
    assert.equal(await next.do({ type: 'appendMany', name: 'b', values }), 0);
    assert.deepEqual(await valuesOf(store, 'b'), values);
  });

  test('closing the store makes durable what was appended, and refuses what comes', async () => {
    const path = directory();
    const store = await openSmall(path);
    const producer = await producerOf(store);
    await producer.do({ type: 'stream', name: 'a' });
    const appended = producer.do({ type: 'append', name: 'a', values: numbered(50) });
    await appended;
    await store.close();
    await assert.rejects(producer.do({ type: 'append', name: 'a', values: ['x'] }), { code: 'ERR_MILLRACE_CLOSED' });
    await assert.rejects(producer.do({ type: 'stream', name: 'b' }), { code: 'ERR_MILLRACE_CLOSED' });
    await producer.do({ type: 'close' });
    const again = await openSmall(path);
    assert.deepEqual([again.stats().recovery?.records, again.stats().recovery?.blocks], [0, 0]);
    assert.deepEqual(await valuesOf(again, 'a'), numbered(50));
  });

  test('a lane of an earlier opening is used again', async () => {
    const path = directory();
    for (let turn = 0; turn < 3; turn += 1) {
      const store = await openSmall(path);
      const producer = await producerOf(store);
      await producer.do({ type: 'stream', name: 'a' });
      assert.equal(await producer.do({ type: 'appendMany', name: 'a', values: numbered(10) }), turn * 10);
      assert.deepEqual(
        store.stats().producers.map(({ lane }) => lane),
        [1],
      );
      await store.close();
    }
  });

  test('handles that nobody took over, and what is no handle, do no harm', async () => {
    const store = await openSmall(directory());
    await store.producer();
    await assert.rejects(attachProducer(JSON.parse('{}') as ProducerHandle), { code: 'ERR_MILLRACE_INVALID_ARGUMENT' });
    await assert.rejects(store.producer({ slots: 1 }), { code: 'ERR_MILLRACE_INVALID_ARGUMENT' });
    await assert.rejects(store.producer(JSON.parse('{"slot":2}') as ProducerOptions), {
      code: 'ERR_MILLRACE_INVALID_ARGUMENT',
    });
    await store.flush();
    await store.close();
    await assert.rejects(store.producer(), { code: 'ERR_MILLRACE_CLOSED' });
  });

  test('a handle is taken over once: two writers of one ring would overwrite what was acknowledged', async () => {
    const store = await openSmall(directory());
    const handle = await store.producer();
    const producer = await attachProducer(handle);
    const again = { code: 'ERR_MILLRACE_INVALID_ARGUMENT', message: /attached before/ };
    await assert.rejects(attachProducer(handle), again);
    const stream = await producer.stream('once');
    for (let offset = 0; offset < 20; offset += 1) assert.equal(await stream.append(`${offset}`), offset);
    await producer.close();
    await assert.rejects(attachProducer(handle), again);
    assert.equal((await store.verify()).problems.length, 0);
    await store.close();
  });

  test('a handle can be taken over in the same thread', async () => {
    const store = await openSmall(directory());
    const producer = await attachProducer(await store.producer());
    const stream = await producer.stream('a');
    assert.equal(await producer.stream('a'), stream);
    assert.equal(await stream.append('v', { key: 'k', timestamp: 5 }), 0);
    const record = await (await store.stream('a')).get(0);
    assert.deepEqual([String(record?.key), record?.timestamp], ['k', 5]);
    await producer.close();
    await assert.rejects(stream.append('w'), { code: 'ERR_MILLRACE_CLOSED' });
  });

  test('who waits for a store that stops meanwhile is told why it has stopped', async () => {
    const path = directory();
    const store = await open({ dir: path, wal: SMALL, compaction: false });
    const producer = await attachProducer(await store.producer(SMALL));
    const stream = await producer.stream('a');
    await stream.append('has nowhere to go');
    rmSync(join(path, 'objects'), { recursive: true, force: true });
    writeFileSync(join(path, 'objects'), 'in the way');
    await assert.rejects(stream.release(), { code: 'ERR_MILLRACE_DIRECTORY_UNUSABLE' });
    await assert.rejects(producer.stream('b'), { code: 'ERR_MILLRACE_DIRECTORY_UNUSABLE' });
    await assert.rejects(producer.close(), { code: 'ERR_MILLRACE_DIRECTORY_UNUSABLE' });
    await store.close();
  });

  test('a store without a WAL has no lanes for others', async () => {
    const store = await open({ dir: directory(), wal: false });
    closing.push(() => store.close());
    await assert.rejects(store.producer(), { code: 'ERR_MILLRACE_UNSUPPORTED' });
  });

  test('tools that look from outside find what is in the lanes of producers', async () => {
    const path = directory();
    const store = await openSmall(path);
    const producer = await attachProducer(await store.producer());
    await (await store.stream('own')).append('v');
    await (await producer.stream('a')).appendMany(numbered(7));
    const { unflushed, problems } = await inspectLog(path, 'everything');
    assert.deepEqual([Object.fromEntries(unflushed), problems], [{ a: 7, own: 1 }, []]);
    await store.flush();
    assert.equal((await inspectLog(path, 'unflushed')).unflushed.size, 0);
  });

  test('a lane whose making was cut short is completed, one that lost a file is not', async () => {
    const path = directory();
    const slot = join(path, 'wal', 'lane-001-slot-001.wal');
    const born = await openSmall(path);
    await born.producer();
    await born.close();
    rmSync(slot);
    const store = await openSmall(path);
    const producer = await attachProducer(await store.producer());
    assert.equal(await (await producer.stream('a')).append('v'), 0);
    await store.close();
    rmSync(slot);
    // As after a kill: nothing says any more that all of the lane is in segments.
    rmSync(join(path, 'wal', 'lane-001.clean'));
    await assert.rejects(open(path), (error) => {
      assert.ok(isMillraceError(error, 'ERR_MILLRACE_WAL_CORRUPT'));
      assert.match(error.message, /lane-001-slot-001\.wal: missing/);
      return true;
    });
    const salvaged = await openSmall(path, { salvage: true });
    assert.deepEqual(await valuesOf(salvaged, 'a'), ['v']);
  });

  test('there is a most of producers', async () => {
    const store = await openSmall(directory());
    const tiny = { slots: 2, slotBytes: 65_536 };
    for (let made = 0; made < 64; made += 1) await store.producer(tiny);
    await assert.rejects(store.producer(tiny), { code: 'ERR_MILLRACE_TOO_MANY_PRODUCERS' });
  });

  test('a stream that is deleted while a producer opens it is refused, or one that is there', async () => {
    const store = await openSmall(directory());
    const producer = await attachProducer(await store.producer());
    closing.push(() => producer.close());
    for (let round = 0; round < 40; round += 1) {
      const opening = producer.stream('a');
      // The request arrives some turns of the event loop later, and makes the stream.
      for (let turn = 0; turn < round % 8; turn += 1) await new Promise(setImmediate);
      for (let turn = 0; turn < round >> 3; turn += 1) await Promise.resolve();
      const deletion = store.deleteStream('a').then(
        () => undefined,
        (error: unknown) => {
          assert.ok(isMillraceError(error, 'ERR_MILLRACE_STREAM_HELD'), String(error));
        },
      );
      const stream = await opening;
      await deletion;
      assert.equal(await stream.append(`round ${round}`), 0);
      assert.deepEqual(await valuesOf(store, 'a'), [`round ${round}`]);
      await stream.release();
      assert.equal(await store.deleteStream('a'), true);
    }
  });

  test('what waits for room in the ring comes before what a producer appends to the stream', async () => {
    const store = await openSmall(directory());
    const producer = await attachProducer(await store.producer());
    closing.push(() => producer.close());
    const busy = await store.stream('busy');
    const filled = Array.from({ length: 60 }, () => busy.append(Buffer.alloc(20_000)));
    const own = (await store.stream('a')).appendMany(['first', 'second']);
    const stream = await producer.stream('a');
    assert.equal(await stream.append('third'), 2);
    assert.equal(await own, 0);
    await Promise.all(filled);
    assert.deepEqual(await valuesOf(store, 'a'), ['first', 'second', 'third']);
  });
});
