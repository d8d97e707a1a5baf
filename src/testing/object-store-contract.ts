/** What every object store must do, whatever it is made of or wrapped in. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { ErrorCode } from '../errors/codes.ts';
import { isMillraceError } from '../errors/millrace-error.ts';
import type { ObjectEntry, ObjectStore } from '../object/object-store.ts';
import { nodeTest, type TestFunctions } from './test-functions.ts';

/** A fresh, empty store for each test, and what ends it. */
export interface OpenedStore {
  /** What is tested. It holds nothing. */
  readonly store: ObjectStore;
  /** Closes it and removes what it holds. */
  dispose(): Promise<void>;
}

/** Passes for errors with this code, for `assert.rejects`. */
export function withCode(code: ErrorCode): (error: unknown) => boolean {
  return (error) => {
    assert.ok(isMillraceError(error), `a coded error, not ${String(error)}`);
    assert.equal(error.code, code);
    return true;
  };
}

/** Bytes that differ at every position and from one seed to the next. */
export function patternBytes(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let index = 0; index < length; index += 1) bytes[index] = (index * 31 + (index >> 8) * 7 + seed * 13) & 0xff;
  return bytes;
}

/** Writes an object whole. */
export async function putObject(store: ObjectStore, key: string, ...parts: Uint8Array[]): Promise<number> {
  const writer = await store.create(key);
  for (const part of parts) await writer.write(part);
  return writer.commit();
}

async function keysOf(store: ObjectStore, prefix?: string): Promise<string[]> {
  return (await entriesOf(store, prefix)).map((entry) => entry.key);
}

async function entriesOf(store: ObjectStore, prefix?: string): Promise<ObjectEntry[]> {
  const entries: ObjectEntry[] = [];
  for await (const entry of store.list(prefix)) entries.push(entry);
  return entries;
}

const BAD_KEYS = ['', '/a', 'a/', 'a//b', '.', '..', '../a', 'a/../b', 'a/..', './a', 'A', 'a b', 'a\0', 'é', 'x.tmp'];

/** Declares the tests that every object store passes, with node:test or the functions of another runner. */
export function objectStoreContract(
  name: string,
  open: () => Promise<OpenedStore>,
  functions: TestFunctions = nodeTest,
): void {
  const { describe, beforeEach, afterEach } = functions;
  describe(`object store contract: ${name}`, () => {
    let opened: OpenedStore;
    let store: ObjectStore;
    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.dispose());

    writing(() => store, functions);
    reading(() => store, functions);
    deleting(() => store, functions);
    listing(() => store, functions);
    histories(() => store, functions);
  });
}

function writing(store: () => ObjectStore, { test }: TestFunctions): void {
  test('an object reads back byte for byte, across the borders of its writes', async () => {
    const parts = [patternBytes(4096, 1), patternBytes(1, 2), patternBytes(70_000, 3), new Uint8Array(0)];
    const whole = Buffer.concat(parts);
    assert.equal(await putObject(store(), 'a/b-1.seg', ...parts), whole.length);
    assert.deepEqual(Buffer.from(await store().read('a/b-1.seg', 0, whole.length)), whole);
    assert.deepEqual(Buffer.from(await store().read('a/b-1.seg', 4000, 200)), whole.subarray(4000, 4200));
    assert.equal(await store().size('a/b-1.seg'), whole.length);
  });

  test('an empty object exists', async () => {
    assert.equal(await putObject(store(), 'empty'), 0);
    assert.equal(await store().size('empty'), 0);
    assert.equal((await store().read('empty', 0, 0)).length, 0);
  });

  test('memory of a write may be reused once it resolves', async () => {
    const scratch = patternBytes(8192, 1);
    const writer = await store().create('reuse');
    await writer.write(scratch);
    scratch.fill(0xee);
    await writer.write(scratch.subarray(0, 4096));
    assert.equal(await writer.commit(), 12_288);
    const expected = Buffer.concat([patternBytes(8192, 1), Buffer.alloc(4096, 0xee)]);
    assert.deepEqual(Buffer.from(await store().read('reuse', 0, 12_288)), expected);
  });

  test('memory shared between threads can be written', async () => {
    const shared = new Uint8Array(new SharedArrayBuffer(5000));
    shared.set(patternBytes(5000));
    await putObject(store(), 'shared', shared.subarray(100));
    assert.deepEqual(Buffer.from(await store().read('shared', 0, 4900)), Buffer.from(patternBytes(5000).subarray(100)));
  });

  test('nothing is visible before commit', async () => {
    const writer = await store().create('later');
    await writer.write(patternBytes(10_000));
    assert.equal(await store().size('later'), undefined);
    assert.deepEqual(await keysOf(store()), []);
    await assert.rejects(store().read('later', 0, 1), withCode('ERR_MILLRACE_OBJECT_NOT_FOUND'));
    await writer.commit();
    assert.deepEqual(await keysOf(store()), ['later']);
  });

  test('abort leaves nothing behind and frees the key', async () => {
    const writer = await store().create('k');
    await writer.write(patternBytes(10_000));
    await writer.abort();
    await writer.abort();
    assert.deepEqual(await keysOf(store()), []);
    await putObject(store(), 'k', patternBytes(3));
    assert.equal(await store().size('k'), 3);
  });

  test('abort after commit changes nothing', async () => {
    const writer = await store().create('k');
    await writer.write(patternBytes(10));
    await writer.commit();
    await writer.abort();
    assert.equal(await store().size('k'), 10);
  });

  test('a key that exists is refused and keeps its object', async () => {
    await putObject(store(), 'once', patternBytes(100, 1));
    await assert.rejects(async () => {
      const writer = await store().create('once');
      try {
        await writer.write(patternBytes(100, 2));
        await writer.commit();
      } catch (error) {
        await writer.abort();
        throw error;
      }
    }, withCode('ERR_MILLRACE_OBJECT_EXISTS'));
    assert.deepEqual(Buffer.from(await store().read('once', 0, 100)), Buffer.from(patternBytes(100, 1)));
  });

  test('an ended writer takes nothing more', async () => {
    const committed = await store().create('c');
    await committed.commit();
    await assert.rejects(committed.write(patternBytes(1)), /AssertionError/);
    await assert.rejects(committed.commit(), /AssertionError/);
    const aborted = await store().create('d');
    await aborted.abort();
    await assert.rejects(aborted.commit(), /AssertionError/);
  });

  test('keys that could leave the store or mean two things are refused', async () => {
    for (const key of [...BAD_KEYS, 'a'.repeat(201)]) {
      await assert.rejects(store().create(key), withCode('ERR_MILLRACE_INVALID_ARGUMENT'), key);
      await assert.rejects(store().read(key, 0, 1), withCode('ERR_MILLRACE_INVALID_ARGUMENT'), key);
      await assert.rejects(store().size(key), withCode('ERR_MILLRACE_INVALID_ARGUMENT'), key);
      assert.deepEqual(await store().delete([key]), [], key);
    }
    await putObject(store(), 'a'.repeat(200), patternBytes(1));
    assert.equal(await store().size('a'.repeat(200)), 1);
  });

  test('several objects are written at once without mixing', async () => {
    const keys = ['p/1', 'p/2', 'p/3', 'q/1'];
    await Promise.all(
      keys.map((key, index) => putObject(store(), key, patternBytes(9000, index), patternBytes(5, index))),
    );
    for (const [index, key] of keys.entries()) {
      const expected = Buffer.concat([patternBytes(9000, index), patternBytes(5, index)]);
      assert.deepEqual(Buffer.from(await store().read(key, 0, 9005)), expected);
    }
  });
}

function reading(store: () => ObjectStore, { test }: TestFunctions): void {
  test('a missing object is named by reads and undefined by size', async () => {
    await assert.rejects(store().read('none', 0, 1), withCode('ERR_MILLRACE_OBJECT_NOT_FOUND'));
    await assert.rejects(store().read('none/at/all', 0, 1), withCode('ERR_MILLRACE_OBJECT_NOT_FOUND'));
    assert.equal(await store().size('none'), undefined);
    assert.equal(await store().size('none/at/all'), undefined);
  });

  test('an object that is written after it was missed is found', async () => {
    await assert.rejects(store().read('late', 0, 1), withCode('ERR_MILLRACE_OBJECT_NOT_FOUND'));
    await putObject(store(), 'late', patternBytes(9));
    assert.equal((await store().read('late', 0, 9)).length, 9);
  });

  test('a range that passes the end is damage, never a short answer', async () => {
    await putObject(store(), 'short', patternBytes(100));
    for (const [position, length] of [
      [0, 101],
      [99, 2],
      [100, 1],
      [5000, 10],
      [0, 2 ** 40],
    ] as const) {
      await assert.rejects(store().read('short', position, length), withCode('ERR_MILLRACE_SEGMENT_CORRUPT'));
    }
    assert.equal((await store().read('short', 99, 1)).length, 1);
    assert.equal((await store().read('short', 100, 0)).length, 0);
  });

  test('a range that is none is refused', async () => {
    await putObject(store(), 'k', patternBytes(10));
    for (const [position, length] of [
      [-1, 1],
      [0, -1],
      [0.5, 1],
      [NaN, 1],
      [0, NaN],
      [2 ** 53, 1],
    ] as const) {
      await assert.rejects(store().read('k', position, length), withCode('ERR_MILLRACE_INVALID_ARGUMENT'));
    }
  });

  test('a signal that has fired ends a read before it starts', async () => {
    await putObject(store(), 'k', patternBytes(10));
    await assert.rejects(store().read('k', 0, 10, AbortSignal.abort()), withCode('ERR_MILLRACE_ABORTED'));
    assert.equal((await store().read('k', 0, 10, new AbortController().signal)).length, 10);
  });

  test('what a read returned belongs to the caller', async () => {
    await putObject(store(), 'k', patternBytes(64));
    const first = await store().read('k', 0, 64);
    first.fill(0);
    assert.deepEqual(Buffer.from(await store().read('k', 0, 64)), Buffer.from(patternBytes(64)));
  });

  test('many reads of many objects at once return their own ranges', async () => {
    const count = 20;
    for (let index = 0; index < count; index += 1) await putObject(store(), `m/${index}`, patternBytes(5000, index));
    const reads = Array.from({ length: 200 }, async (_, index) => {
      const seed = index % count;
      const position = (index * 97) % 4000;
      const bytes = await store().read(`m/${seed}`, position, 1000);
      assert.deepEqual(Buffer.from(bytes), Buffer.from(patternBytes(5000, seed).subarray(position, position + 1000)));
    });
    await Promise.all(reads);
  });
}

function deleting(store: () => ObjectStore, { test }: TestFunctions): void {
  test('delete confirms what is gone, and absent counts as gone', async () => {
    await putObject(store(), 'a/1', patternBytes(10));
    await putObject(store(), 'b', patternBytes(10));
    await putObject(store(), 'keep', patternBytes(10));
    assert.deepEqual((await store().delete(['a/1', 'b', 'never-was', 'no/folder/x'])).sort(), [
      'a/1',
      'b',
      'never-was',
      'no/folder/x',
    ]);
    assert.deepEqual(await keysOf(store()), ['keep']);
    await assert.rejects(store().read('b', 0, 1), withCode('ERR_MILLRACE_OBJECT_NOT_FOUND'));
    assert.deepEqual((await store().delete(['a/1', 'b'])).sort(), ['a/1', 'b']);
    assert.deepEqual(await store().delete([]), []);
  });

  test('an object that was read before is gone after delete', async () => {
    await putObject(store(), 'k', patternBytes(10));
    await store().read('k', 0, 10);
    assert.deepEqual(await store().delete(['k']), ['k']);
    await assert.rejects(store().read('k', 0, 10), withCode('ERR_MILLRACE_OBJECT_NOT_FOUND'));
    assert.equal(await store().size('k'), undefined);
  });

  test('one bad key does not keep the others', async () => {
    await putObject(store(), 'good', patternBytes(10));
    assert.deepEqual(await store().delete(['../bad', 'good']), ['good']);
    assert.equal(await store().size('good'), undefined);
  });
}

function listing(store: () => ObjectStore, { test }: TestFunctions): void {
  test('list gives every object in key order with its size', async () => {
    const keys = ['a-b', 'a.b', 'a/b', 'a/b-c/d', 'a0', 'b', 'b-/x', '0/1'];
    for (const [index, key] of keys.entries()) await putObject(store(), key, patternBytes(index + 1));
    const entries = await entriesOf(store());
    assert.deepEqual(
      entries.map((entry) => entry.key),
      [...keys].sort(),
    );
    for (const entry of entries) {
      assert.equal(entry.bytes, keys.indexOf(entry.key) + 1);
      assert.ok(Number.isFinite(entry.modifiedAt) && entry.modifiedAt >= 0);
    }
  });

  test('list with a prefix gives exactly the keys that start so', async () => {
    for (const key of ['seg/1', 'seg/2', 'seg-old/1', 'other', 'se']) await putObject(store(), key, patternBytes(1));
    assert.deepEqual(await keysOf(store(), 'seg/'), ['seg/1', 'seg/2']);
    assert.deepEqual(await keysOf(store(), 'seg'), ['seg-old/1', 'seg/1', 'seg/2']);
    assert.deepEqual(await keysOf(store(), 'seg/2'), ['seg/2']);
    assert.deepEqual(await keysOf(store(), 'zzz'), []);
  });

  test('a listing may be left half way', async () => {
    for (const key of ['a', 'b', 'c']) await putObject(store(), key, patternBytes(1));
    for await (const entry of store().list()) {
      assert.equal(entry.key, 'a');
      break;
    }
    assert.deepEqual(await keysOf(store()), ['a', 'b', 'c']);
  });
}

type Step = readonly ['put' | 'abort' | 'delete' | 'read', string, number];

const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom('put', 'put', 'abort', 'delete', 'read'),
  fc.constantFrom('a', 'a-b', 'b/c/d', 'b/c/e', 'b/f'),
  fc.integer({ min: 0, max: 9000 }),
);

async function play(store: ObjectStore, model: Map<string, Uint8Array>, [kind, key, length]: Step): Promise<void> {
  const stored = model.get(key);
  if (kind === 'delete') {
    assert.deepEqual(await store.delete([key]), [key]);
    model.delete(key);
  } else if (kind === 'abort') {
    const writer = await store.create(key);
    await writer.write(patternBytes(length, length));
    await writer.abort();
  } else if (kind === 'put' && stored === undefined) {
    model.set(key, patternBytes(length, length));
    assert.equal(await putObject(store, key, patternBytes(length, length)), length);
  }
  assert.equal(await store.size(key), model.get(key)?.length);
  const bytes = model.get(key);
  if (bytes === undefined) return;
  const position = Math.floor(bytes.length / 3);
  const read = await store.read(key, position, bytes.length - position);
  assert.deepEqual(Buffer.from(read), Buffer.from(bytes.subarray(position)));
}

function histories(store: () => ObjectStore, { test }: TestFunctions): void {
  test('any history of puts, deletes and reads ends as it would in a map', async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const model = new Map<string, Uint8Array>();
      for (const one of steps) await play(store(), model, one);
      assert.deepEqual(await keysOf(store()), [...model.keys()].sort());
      await store().delete([...model.keys()]);
    });
    await fc.assert(property, { numRuns: 15 });
  });
}
