import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { coded, collect, openStore } from '../support/test-store.ts';

interface Order {
  readonly item: string;
  readonly amount?: number;
}

suite('JSON', () => {
  test('objects go in and come out, with keys as text, and tombstones as null', async (t) => {
    const store = await openStore(t);
    const stream = await store.stream('orders');
    const orders = stream.json<Order>();
    assert.equal(await orders.append({ item: 'flour', amount: 2 }, { key: 'a', timestamp: 5 }), 0);
    assert.equal(await orders.appendMany([{ value: { item: 'oats' }, key: 'b' }, { value: { item: 'rye' } }]), 1);
    await stream.append(null, { key: 'a' });
    const records = await collect(orders.read());
    assert.deepEqual(
      records.map(({ offset, key, value }) => [offset, key, value]),
      [
        [0, 'a', { item: 'flour', amount: 2 }],
        [1, 'b', { item: 'oats' }],
        [2, null, { item: 'rye' }],
        [3, 'a', null],
      ],
    );
    assert.equal(records[0]?.timestamp, 5);
    assert.deepEqual((await orders.get(2))?.value, { item: 'rye' });
    assert.equal(await orders.get(9), undefined);
    assert.equal(String((await stream.get(1))?.value), '{"item":"oats"}');
  });

  test('what is no JSON is refused, going in and coming out', async (t) => {
    const store = await openStore(t);
    const stream = await store.stream('s');
    const json = stream.json();
    await assert.rejects(json.append(undefined), coded('ERR_MILLRACE_INVALID_ARGUMENT', 'undefined'));
    await assert.rejects(
      json.appendMany([{ value: 1 }, { value: () => 2 }]),
      coded('ERR_MILLRACE_INVALID_ARGUMENT', 'function'),
    );
    assert.equal(await stream.append('{half'), 0);
    await assert.rejects(collect(json.read()), coded('ERR_MILLRACE_INVALID_ARGUMENT', 'offset 0'));
  });
});

suite('signals', () => {
  test('a call whose signal has fired does nothing', async (t) => {
    const store = await openStore(t);
    const stream = await store.stream('s');
    const signal = AbortSignal.abort('enough');
    const aborted = coded('ERR_MILLRACE_ABORTED');
    await assert.rejects(stream.append('a', { signal }), aborted);
    await assert.rejects(stream.appendMany(['a'], { signal }), aborted);
    await assert.rejects(stream.json().append({}, { signal }), aborted);
    await assert.rejects(store.flush({ signal }), aborted);
    await assert.rejects(store.compact({ signal }), aborted);
    await stream.append('b', { signal: new AbortController().signal });
    assert.equal((await stream.info()).nextOffset, 1);
    await store.flush();
    await assert.rejects(store.verify({ signal }), aborted);
  });

  test('a signal that fires meanwhile ends the waiting, and the record may be there all the same', async (t) => {
    const store = await openStore(t);
    const stream = await store.stream('s');
    const stop = new AbortController();
    const waiting = stream.append('a', { signal: stop.signal });
    stop.abort();
    await assert.rejects(waiting, coded('ERR_MILLRACE_ABORTED'));
    assert.equal(await stream.append('b'), 1);
  });

  test('options that a call does not have are refused', async (t) => {
    const stream = await (await openStore(t)).stream('s');
    const options = { sginal: undefined } as object;
    await assert.rejects(stream.appendMany(['a'], options), coded('ERR_MILLRACE_INVALID_ARGUMENT', 'sginal'));
  });
});
