/** What a job holds in memory, and how it reads: bounded buffers, few requests, every byte the right one. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import {
  BufferAccount,
  type ByteRange,
  InputSource,
  joinRanges,
  RUN_READ_BYTES,
  windowBytesFor,
  WINDOWS_BYTES,
} from '../../src/compaction/input-source.ts';
import { MIB } from '../../src/limits/limits.ts';
import type { ObjectStore } from '../../src/object/object-store.ts';
import { keyed, latestOf, plain, World } from './world.ts';

/** Bytes of an object: any two places differ. */
const CONTENT = Uint8Array.from({ length: 16 * MIB }, (_, index) => index * 31 + (index >> 8));

/** Ascending ranges with gaps. */
const ranges: fc.Arbitrary<ByteRange[]> = fc
  .array(
    fc.record({
      gap: fc.oneof(fc.constant(0), fc.nat(5_000), fc.nat(300_000)),
      length: fc.integer({ min: 1, max: 60_000 }),
    }),
    {
      minLength: 1,
      maxLength: 40,
      size: 'max',
    },
  )
  .map((parts) => {
    let end = 64;
    return parts.map(({ gap, length }) => {
      const position = end + gap;
      end = position + length;
      return { position, length };
    });
  });

suite('an input', () => {
  test('is read exactly, forward and again, with two windows in memory', async () => {
    await fc.assert(
      fc.asyncProperty(ranges, fc.constantFrom(4_096, 40_000, 200_000), fc.nat(3), async (runs, windowBytes, again) => {
        const last = runs.at(-1) as ByteRange;
        const content = CONTENT.subarray(0, last.position + last.length + 500);
        const account = new BufferAccount();
        let requests = 0;
        const read = async (position: number, length: number): Promise<Uint8Array> => {
          requests += 1;
          assert.ok(position + length <= last.position + last.length, 'nothing behind the last run is read');
          return content.slice(position, position + length);
        };
        const source = new InputSource(content.length, read, runs, windowBytes, account);
        for (const { position, length } of runs) {
          for (let time = 0; time <= again; time += 1) {
            const bytes = await source.sourceFor(length).read(position, length);
            assert.equal(Buffer.compare(bytes, content.subarray(position, position + length)), 0);
          }
        }
        assert.ok(account.peak <= 3 * windowBytes, `${account.peak} bytes for windows of ${windowBytes}`);
        source.close();
        assert.equal(account.held, 0);
        const large = runs.filter(({ length }) => length > windowBytes / 2).length;
        const covered = joinRanges(runs).reduce(
          (sum, { length }) => sum + Math.ceil((2 * length) / windowBytes) + 2,
          0,
        );
        assert.ok(requests <= (large + covered) * (again + 1), `${requests} requests`);
      }),
      { numRuns: 60 },
    );
  });

  test('has a window that leaves room for all others', () => {
    for (const inputs of [1, 4, 8, 32, 128]) assert.ok(windowBytesFor(inputs) * inputs * 3 <= WINDOWS_BYTES);
  });
});

/** Counts requests and the bytes that are on their way. */
function counted(inner: ObjectStore): { readonly store: ObjectStore; readonly requests: () => number } {
  let requests = 0;
  const store = new Proxy(inner, {
    get(target, name): unknown {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      if (name === 'read') requests += 1;
      return (value as (...values: unknown[]) => unknown).bind(target);
    },
  });
  return { store, requests: () => requests };
}

suite('a job', () => {
  test('holds the same little memory whatever its inputs hold', async () => {
    const peaks: number[] = [];
    const value = 'incompressible, for all this stream knows '.repeat(3_000);
    for (const records of [100, 200]) {
      const world = await World.open();
      const large = await world.stream('large', { compression: 'none' });
      const small = await world.stream('small');
      for (let index = 0; index < 3; index += 1) {
        await world.append(
          { streamId: large, records: Array.from({ length: records }, () => ({ value })), compression: 'none' },
          { streamId: small, records: plain(50) },
        );
      }
      await world.agent().compact({ force: true });
      const { peakBufferedBytes, readBytes } = world.jobs[0]?.result.counters ?? { peakBufferedBytes: 0, readBytes: 0 };
      assert.ok(readBytes > 3 * records * value.length, `${readBytes} bytes were read`);
      assert.ok(peakBufferedBytes <= WINDOWS_BYTES + 2 * RUN_READ_BYTES, `${peakBufferedBytes} bytes at once`);
      assert.ok(peakBufferedBytes < readBytes / 3);
      peaks.push(peakBufferedBytes);
    }
    assert.ok((peaks[1] as number) <= (peaks[0] as number) * 1.01, `${peaks.join()}: twice the input`);
  });

  test('asks for parts of objects, not for every run', async () => {
    const world = await World.open();
    const names = Array.from({ length: 300 }, (_, index) => `s${index}`);
    const ids = await Promise.all(
      names.map((name, index) => world.stream(name, index % 2 === 0 ? { cleanup: 'compact' } : {})),
    );
    for (let index = 0; index < 6; index += 1) {
      await world.append(...ids.map((streamId) => ({ streamId, records: keyed(10, 3) })));
    }
    const before = await Promise.all(ids.map((id) => world.read(id)));
    const { store, requests } = counted(world.memory);
    world.objects = store;
    await world.agent().compact({ force: true });
    assert.ok(requests() < 60, `${requests()} requests for 1,800 runs`);
    for (const [index, id] of ids.entries()) {
      const records = before[index] ?? [];
      assert.deepEqual(await world.read(id), index % 2 === 0 ? latestOf(records) : records);
    }
    await world.check();
  });
});
