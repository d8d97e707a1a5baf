/** Ending a reading, and leaving the event loop to others. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RecordBatch, Stream, StreamRecord } from '../../src/index.ts';
import { coded, collect, numbered, openStore } from '../support/test-store.ts';

for (const reading of ['read', 'readBatches'] as const) {
  test(`${reading}: a return while calls of next wait answers them with the end, at once`, async (t) => {
    const stream = await (await openStore(t)).stream('a');
    await stream.append('0');
    const reader = stream[reading]({ follow: true });
    assert.equal((await reader.next()).done, false);
    const waiting = [reader.next(), reader.next()];
    await new Promise(setImmediate);
    await reader.return?.(undefined);
    for (const answer of await Promise.all(waiting)) assert.deepEqual(answer, { value: undefined, done: true });
    await stream.append('1');
    assert.deepEqual(await reader.next(), { value: undefined, done: true });
  });

  test(`${reading}: calls of next that overlap share a limit`, async (t) => {
    const stream = await (await openStore(t)).stream('a');
    await stream.appendMany(numbered(5));
    const reader = stream[reading]({ limit: 2, follow: true });
    const answers = await Promise.all([reader.next(), reader.next(), reader.next(), reader.next()]);
    const records = answers.flatMap((answer) => {
      const value = answer.value as RecordBatch | StreamRecord | undefined;
      if (value === undefined) return [];
      return 'length' in value ? [...value] : [value];
    });
    assert.deepEqual(
      records.map(({ offset }) => offset),
      [0, 1],
    );
    assert.equal(answers[3]?.done, true);
  });
}

test('a reader of batches that is thrown at ends, and one that is disposed of too', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  await stream.append('0');
  const [thrown, disposed] = [stream.readBatches({ follow: true }), stream.readBatches({ follow: true })];
  await assert.rejects(thrown.throw(new Error('enough')), /enough/);
  await disposed[Symbol.asyncDispose]();
  assert.deepEqual([await collect(thrown), await collect(disposed)], [[], []]);
});

test('an abort is an error once, and the end from then on', async (t) => {
  const stream = await (await openStore(t)).stream('a');
  const abort = new AbortController();
  const reader = stream.readBatches({ follow: true, signal: abort.signal });
  const waiting = reader.next();
  abort.abort();
  await assert.rejects(waiting, coded('ERR_MILLRACE_ABORTED'));
  assert.equal((await reader.next()).done, true);
});

test('a reader of memory alone lets others have their turns', async (t) => {
  const store = await openStore(t, { wal: { slots: 4, slotBytes: 8 * 1024 * 1024, flushInterval: 3_600_000 } });
  const stream = await store.stream('a');
  await stream.appendMany(Array.from({ length: 1_000 }, () => Buffer.alloc(6_000)));
  let turns = 0;
  const count = (): void => {
    turns += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  let turnsBefore = 0;
  let records = 0;
  for await (const record of stream.read()) {
    if (record.offset === 0) turnsBefore = turns;
    records += 1;
  }
  clearImmediate(timer);
  assert.equal(records, 1_000);
  // Six million bytes: a turn behind each one or two of them.
  assert.ok(turns - turnsBefore >= 3, `${turns - turnsBefore} turns`);
});

for (const [what, read] of [
  ['short reads', (stream: Stream): Promise<unknown> => collect(stream.read({ limit: 2 }))],
  ['point reads', (stream: Stream): Promise<unknown> => stream.get(1)],
] as const) {
  test(`a loop of ${what} lets an append be acknowledged`, async (t) => {
    const stream = await (await openStore(t)).stream('a');
    await stream.appendMany(numbered(3));
    let acknowledged = false;
    const append = stream.append('one more').then(() => {
      acknowledged = true;
    });
    while (!acknowledged) await read(stream);
    await append;
  });
}
