import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecordInput, Store, Stream } from '../../src/index.ts';
import { coded, collect, numbered, openStore, SMALL_WAL, StoreFolder, texts } from '../support/test-store.ts';

test('an append resolves with its offset, and what it resolved for can be read at once', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  for (let offset = 0; offset < 5; offset += 1) {
    assert.equal(await stream.append(`value ${offset}`), offset);
    assert.equal((await stream.get(offset))?.value?.toString(), `value ${offset}`);
  }
});

test('appends that are not awaited take offsets in the order of their calls', async (t) => {
  const store = await openStore(t);
  const [a, b] = [await store.stream('a'), await store.stream('b')];
  const offsets = await Promise.all([
    a.append('0'),
    b.append('0'),
    a.appendMany(['1', '2']),
    b.append('1'),
    a.append('3'),
  ]);
  assert.deepEqual(offsets, [0, 0, 1, 1, 3]);
  assert.deepEqual(await texts(a.read()), ['0', '1', '2', '3']);
  assert.deepEqual(await texts(b.read()), ['0', '1']);
});

test('values come back as they went in: text, bytes, empty and tombstones, with and without keys', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  const loneSurrogate = 'x\ud800y';
  const inputs: [RecordInput, string | null, Buffer | null][] = [
    ['', null, Buffer.from('')],
    ['text', null, Buffer.from('text')],
    ['\u{1f33e}'.repeat(3_000), null, Buffer.from('\u{1f33e}'.repeat(3_000))],
    [loneSurrogate, null, Buffer.from(loneSurrogate)],
    [new Uint8Array([0, 255, 7]).subarray(1), null, Buffer.from([255, 7])],
    [null, null, null],
    [{ value: null, key: 'k' }, 'k', null],
    [{ value: 'v', key: '' }, '', Buffer.from('v')],
    [{ value: 'v', key: new Uint8Array([107, 108]) }, 'kl', Buffer.from('v')],
    [{ value: Buffer.alloc(40_000, 'z'), key: 'k'.repeat(10_000) }, 'k'.repeat(10_000), Buffer.alloc(40_000, 'z')],
  ];
  await stream.appendMany(inputs.map(([input]) => input));
  const check = async (): Promise<void> => {
    const records = await collect(stream.read());
    assert.equal(records.length, inputs.length);
    for (const [index, [, key, value]] of inputs.entries()) {
      assert.equal(records[index]?.offset, index);
      assert.deepEqual(records[index].key?.toString() ?? null, key);
      assert.deepEqual(records[index].value, value);
      assert.deepEqual(await stream.get(index), records[index]);
    }
  };
  await check();
  await store.flush();
  await check();
});

test('timestamps are the ones given, in any order and of any age, and now without one', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  const given = [1_000, -5, 0, 2 ** 45, 7, -(2 ** 45)];
  const before = Date.now();
  for (const timestamp of given) await stream.append('x', { timestamp });
  await stream.append('now');
  const timestamps = (await collect(stream.read())).map(({ timestamp }) => timestamp);
  assert.deepEqual(timestamps.slice(0, -1), given);
  const last = timestamps.at(-1) ?? 0;
  assert.ok(last >= before && last <= Date.now());
});

test('appendMany of nothing resolves with the offset that comes next', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  await stream.append('x');
  assert.equal(await stream.appendMany([]), 1);
  assert.equal(await stream.append('y'), 1);
});

/** A stream of ten records, some in segments and some in memory. */
async function tenRecords(store: Store): Promise<Stream> {
  const stream = await store.stream('ten');
  for (let offset = 0; offset < 10; offset += 1) {
    await stream.append(`${offset}`, { timestamp: 1_000 + 10 * offset });
    if (offset === 3 || offset === 6) await store.flush();
  }
  return stream;
}

test('reading starts where `from` says', async (t) => {
  const store = await openStore(t);
  const stream = await tenRecords(store);
  await stream.storeOffset('billing', 5);
  const all = numbered(10, '');
  const starts: [Parameters<Stream['read']>[0], string[]][] = [
    [{}, all],
    [{ from: 'first' }, all],
    [{ from: 'last' }, ['9']],
    [{ from: 'next' }, []],
    ...[0, 1, 3, 4, 5, 7, 9].map((from): [{ from: number }, string[]] => [{ from }, all.slice(from)]),
    [{ from: 10 }, []],
    [{ from: { timestamp: -1 } }, all],
    [{ from: { timestamp: 1_000 } }, all],
    [{ from: { timestamp: 1_031 } }, all.slice(4)],
    [{ from: { timestamp: 1_035.5 } }, all.slice(4)],
    [{ from: { timestamp: 1_085 } }, all.slice(9)],
    [{ from: { timestamp: 1_091 } }, []],
    [{ from: { reference: 'billing' } }, all.slice(6)],
    [{ from: { reference: 'nobody' } }, all],
  ];
  for (const [options, expected] of starts) {
    assert.deepEqual(await texts(stream.read(options)), expected, JSON.stringify(options));
    const batches = await collect(stream.readBatches(options));
    assert.deepEqual(
      batches.flatMap((batch) => [...batch].map(({ value }) => value?.toString())),
      expected,
    );
    assert.ok(batches.every((batch) => batch.length > 0));
  }
});

test('a limit ends the reading after that many records, across segments and memory', async (t) => {
  const stream = await tenRecords(await openStore(t));
  for (const limit of [0, 1, 3, 4, 5, 7, 9, 10, 11, Infinity]) {
    const expected = numbered(10, '').slice(0, limit);
    assert.deepEqual(await texts(stream.read({ limit })), expected);
    const batches = await collect(stream.readBatches({ limit }));
    assert.deepEqual(
      batches.flatMap((batch) => [...batch].map(({ value }) => value?.toString())),
      expected,
    );
  }
});

test('a limit ends a following reader too, without waiting for one record more', async (t) => {
  const stream = await tenRecords(await openStore(t));
  for (const limit of [0, 3, 10]) {
    assert.equal((await collect(stream.read({ limit, follow: true }))).length, limit);
    const batches = await collect(stream.readBatches({ limit, follow: true }));
    assert.equal(
      batches.reduce((sum, batch) => sum + batch.length, 0),
      limit,
    );
  }
});

test('records that are asked for at the same time come each once and in order', async (t) => {
  const stream = await tenRecords(await openStore(t));
  const iterator = stream.read();
  const results = await Promise.all(Array.from({ length: 12 }, () => iterator.next()));
  assert.deepEqual(
    results.map((result) => (result.done === true ? undefined : result.value.value?.toString())),
    [...numbered(10, ''), undefined, undefined],
  );
});

test('a batch answers by index, by offset and as a whole', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  await stream.appendMany([{ value: 'v0', key: 'k0', timestamp: 5 }, 'v1', { value: null, key: 'k2', timestamp: 6 }]);
  const [batch] = await collect(stream.readBatches({ from: 1 }));
  assert.ok(batch !== undefined);
  assert.equal(batch.length, 2);
  assert.equal(batch.firstOffset, 1);
  assert.equal(batch.nextOffset, 3);
  assert.equal(batch.record(0).value?.toString(), 'v1');
  assert.equal(batch.value(1), null);
  assert.equal(batch.key(1)?.toString(), 'k2');
  assert.equal(batch.timestamp(1), 6);
  assert.equal(batch.find(2)?.offset, 2);
  assert.equal(batch.find(0), undefined);
  assert.throws(() => batch.record(2), RangeError);
});

test('get answers in segments and in memory, and undefined where there is nothing', async (t) => {
  const store = await openStore(t);
  const stream = await tenRecords(store);
  for (let offset = 0; offset < 10; offset += 1) {
    assert.equal((await stream.get(offset))?.value?.toString(), String(offset));
  }
  assert.equal(await stream.get(10), undefined);
  assert.equal(await stream.get(Number.MAX_SAFE_INTEGER), undefined);
  await stream.trim(4);
  assert.equal(await stream.get(3), undefined);
  assert.equal((await stream.get(4))?.offset, 4);
});

test('offsets that no stream can have are refused', async (t) => {
  const stream = await tenRecords(await openStore(t));
  const wrong = [-1, 0.5, NaN, Infinity, 2 ** 53, '1', null, undefined, {}, 1n] as number[];
  for (const offset of wrong) {
    const code = typeof offset === 'number' ? 'ERR_MILLRACE_OFFSET_OUT_OF_RANGE' : 'ERR_MILLRACE_INVALID_ARGUMENT';
    await assert.rejects(stream.get(offset), coded(code, 'is not a whole number'));
    await assert.rejects(stream.trim(offset), coded(code));
    await assert.rejects(stream.storeOffset('r', offset), coded(code));
  }
  for (const from of [-1, 0.5, NaN, Infinity, 2 ** 53, 11]) {
    await assert.rejects(collect(stream.read({ from })), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE'));
    await assert.rejects(collect(stream.readBatches({ from })), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE'));
  }
  await assert.rejects(stream.trim(11), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE', '11', '10'));
  await assert.rejects(stream.storeOffset('r', 10), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE'));
  assert.equal((await stream.info()).firstOffset, 0);
});

test('options of a read that mean nothing are refused, each by its name', async (t) => {
  const stream = await tenRecords(await openStore(t));
  const wrong: [object, string][] = [
    [{ from: 'latest' }, 'from'],
    [{ from: null }, 'from'],
    [{ from: {} }, 'from'],
    [{ from: true }, 'from'],
    [{ from: { timestamp: NaN } }, 'timestamp'],
    [{ from: { timestamp: '5' } }, 'timestamp'],
    [{ limit: -1 }, 'limit'],
    [{ limit: 1.5 }, 'limit'],
    [{ limit: '3' }, 'limit'],
    [{ onTrimmed: 'ignore' }, 'onTrimmed'],
    [{ form: 3 }, 'form'],
  ];
  for (const [options, mention] of wrong) {
    const refused = coded('ERR_MILLRACE_INVALID_ARGUMENT', mention);
    await assert.rejects(async () => collect(stream.read(options)), refused);
    await assert.rejects(async () => collect(stream.readBatches(options)), refused);
  }
  await assert.rejects(collect(stream.read({ from: { reference: '' } })), coded('ERR_MILLRACE_INVALID_REFERENCE'));
});

test('records that are none are refused with nothing appended, one by one and among good ones', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  const wrong = [undefined, 5, true, {}, { value: 5 }, { value: undefined }, [], new Date(0), new ArrayBuffer(4)];
  for (const value of wrong) {
    await assert.rejects(stream.append(value as string), coded('ERR_MILLRACE_INVALID_ARGUMENT'));
    await assert.rejects(stream.appendMany(['good', value as string]), coded('ERR_MILLRACE_INVALID_ARGUMENT'));
  }
  for (const records of [undefined, null, 'text', 5, { length: 1 }]) {
    await assert.rejects(stream.appendMany(records as string[]), coded('ERR_MILLRACE_INVALID_ARGUMENT', 'array'));
  }
  for (const options of [{ key: 5 }, { timestamp: NaN }, { timestamp: 1.5 }, { timestamp: '1' }]) {
    await assert.rejects(stream.append('x', options as object), coded('ERR_MILLRACE_INVALID_ARGUMENT'));
    const input = { value: 'x', ...options } as RecordInput;
    await assert.rejects(stream.appendMany(['good', input]), coded('ERR_MILLRACE_INVALID_ARGUMENT'));
  }
  assert.equal(await stream.append('first'), 0);
});

test('a record over the limit is refused whatever its form, and one at the limit is taken', async (t) => {
  const store = await openStore(t, { maxRecordBytes: 10_000 });
  const stream = await store.stream('a');
  const refused = coded('ERR_MILLRACE_RECORD_TOO_LARGE', '10000', 'maxRecordBytes');
  for (const value of [Buffer.alloc(10_001), 'x'.repeat(10_001), '\u{1f33e}'.repeat(2_501), '\u00e9'.repeat(5_001)]) {
    await assert.rejects(stream.append(value), refused);
    await assert.rejects(stream.appendMany(['x', value]), refused);
    await assert.rejects(stream.publisher('p').append(1, value), refused);
  }
  await assert.rejects(stream.append(Buffer.alloc(6_000), { key: Buffer.alloc(4_001) }), refused);
  await assert.rejects(
    stream.append('x', { key: 'k'.repeat(65_537) }),
    coded('ERR_MILLRACE_RECORD_TOO_LARGE', '65536'),
  );
  for (const value of [Buffer.alloc(10_000), 'x'.repeat(10_000), '\u{1f33e}'.repeat(2_500)]) await stream.append(value);
  await stream.append(Buffer.alloc(6_000), { key: Buffer.alloc(4_000) });
  assert.equal((await collect(stream.read())).length, 4);
});

test('the largest record of the smallest ring goes through it, again and again', async (t) => {
  const store = await openStore(t, { wal: SMALL_WAL });
  const stream = await store.stream('a');
  const size = SMALL_WAL.slotBytes - 8_192;
  for (let index = 0; index < 6; index += 1) {
    await stream.append(Buffer.alloc(size, index));
    await stream.append('\u0000'.repeat(size));
    await stream.appendMany([
      Buffer.alloc(size - 5_000, index),
      { value: Buffer.alloc(10), key: Buffer.alloc(20_000) },
    ]);
  }
  await assert.rejects(stream.append(Buffer.alloc(size + 1)), coded('ERR_MILLRACE_RECORD_TOO_LARGE'));
  const sizes = (await collect(stream.read())).map(({ value }) => value?.length);
  assert.deepEqual(sizes.slice(0, 4), [size, size, size - 5_000, 10]);
  assert.equal(sizes.length, 24);
});

test('trim removes the records below, in memory and in segments, and readers below it are told or go on', async (t) => {
  const store = await openStore(t);
  const stream = await tenRecords(store);
  await stream.trim(2);
  assert.deepEqual(await texts(stream.read()), numbered(8, '', 2));
  await stream.trim(8);
  assert.deepEqual(await texts(stream.read()), ['8', '9']);
  await stream.trim(5);
  assert.deepEqual(await texts(stream.read()), ['8', '9'], 'a trim never brings records back');
  await assert.rejects(collect(stream.read({ from: 3 })), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE', '3', '8'));
  const skipped: number[][] = [];
  const options = {
    from: 3,
    onTrimmed: 'skip',
    skipped: (from: number, to: number) => skipped.push([from, to]),
  } as const;
  assert.deepEqual(await texts(stream.read(options)), ['8', '9']);
  assert.deepEqual(skipped, [[3, 8]]);
  await stream.trim(10);
  assert.deepEqual(await texts(stream.read()), []);
  assert.equal(await stream.append('10'), 10);
  const { firstOffset, nextOffset, records } = await stream.info();
  assert.deepEqual({ firstOffset, nextOffset, records }, { firstOffset: 10, nextOffset: 11, records: 1 });
});

test('an empty stream can be read, trimmed and asked', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  for (const from of ['first', 'last', 'next', 0, { timestamp: 0 }, { reference: 'r' }] as const) {
    assert.deepEqual(await collect(stream.read({ from })), []);
  }
  assert.equal(await stream.get(0), undefined);
  await stream.trim(0);
  const { records, userBytes, segments, durableOffset } = await stream.info();
  assert.deepEqual(
    { records, userBytes, segments, durableOffset },
    { records: 0, userBytes: 0, segments: 0, durableOffset: 0 },
  );
});

test('what a stream holds survives closing and opening, unread parts of the ring included', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open();
  await tenRecords(store);
  await store.close();
  const again = await (await folder.open()).stream('ten');
  assert.deepEqual(await texts(again.read()), numbered(10, ''));
  assert.equal(await again.append('10'), 10);
});
