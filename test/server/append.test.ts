/** Appends over HTTP: many lines or one record, once each for publishers, and what is kept of a request that fails. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { texts } from '../support/test-store.ts';
import { answerOf, linesOf, served, type ServedStore } from './server-fixture.ts';

const RECORDS = '/v1/streams/orders/records';
const CREATE = `${RECORDS}?create=true`;
const LINES = { 'content-type': 'application/x-ndjson' };
const BYTES = { 'content-type': 'application/octet-stream' };

const BROKEN_LINES = [
  ['hello', /line 2: it is not JSON/],
  ['[1]', /line 2: it is no JSON object/],
  ['{"key":"k"}', /line 2: it has no value/],
  ['{"value":"v","keyy":"k"}', /line 2: it has a field .*keyy/],
  ['{"value":{"a":1}}', /line 2: its value is not text/],
  ['{"value":{"base64":"?"}}', /line 2: its value is not text/],
  ['{"value":"\\ud800"}', /line 2: its value holds half of a surrogate pair/],
  ['{"value":"v","timestamp":1.5}', /line 2: its timestamp/],
  ['{"__proto__":{"value":"v"}}', /line 2: it has/],
] as const;

async function values({ store }: ServedStore): Promise<(string | undefined)[]> {
  return texts((await store.stream('orders')).read());
}

suite('lines', () => {
  test('become records with keys, timestamps, bytes and tombstones, and the answer says where they went', async (t) => {
    const client = await served(t);
    const lines = [
      { value: 'text', key: 'k', timestamp: 5 },
      { value: { base64: '/wA=' }, key: { base64: 'AAE=' } },
      { value: null, key: 'k' },
      { value: '' },
    ];
    const answer = await client.ask('POST', CREATE, { lines });
    assert.deepEqual(answer.json(), { records: 4, duplicates: 0, ranges: [{ firstOffset: 0, records: 4 }] });
    const stream = await client.store.stream('orders');
    assert.equal((await stream.info()).durableOffset, 4, 'what is answered is durable');
    const [text, bytes, tombstone, empty] = await Promise.all([0, 1, 2, 3].map((offset) => stream.get(offset)));
    assert.deepEqual([text?.timestamp, String(text?.key), String(text?.value)], [5, 'k', 'text']);
    assert.deepEqual([bytes?.key, bytes?.value], [Buffer.from([0, 1]), Buffer.from([255, 0])]);
    assert.deepEqual([tombstone?.value, empty?.value?.length, empty?.key], [null, 0, null]);
  });

  test('that a read gave can be appended again as they are', async (t) => {
    const client = await served(t);
    await client.ask('POST', CREATE, { lines: [{ value: 'a', key: 'k' }, { value: { base64: '/w==' } }] });
    const { text } = await client.get(RECORDS);
    const copied = await client.ask('POST', '/v1/streams/copy/records?create=true', { body: text, headers: LINES });
    assert.equal(copied.json()['records'], 2);
    const strip = (line: Record<string, unknown>): unknown => ({ ...line, timestamp: undefined });
    assert.deepEqual((await client.read('/v1/streams/copy/records')).map(strip), linesOf(text).map(strip));
  });

  test('are values as they are with format=lines, and take a key from one of their fields', async (t) => {
    const client = await served(t);
    const body = '{"id":"7","x":1}\n\r\nlast line without an end';
    await client.ask('POST', `${CREATE}&format=lines`, { body, headers: LINES });
    assert.deepEqual(await values(client), ['{"id":"7","x":1}', '\r', 'last line without an end']);
    const keyed = `${RECORDS}?format=lines&keyField=id`;
    await client.ask('POST', keyed, { body: '{"id":"7","x":1}\n', headers: LINES });
    assert.equal(String((await (await client.store.stream('orders')).get(3))?.key), '7');
    const refused = await client.ask('POST', keyed, { body: '{"no":"7"}\n', headers: LINES });
    assert.match(refused.text, /line 1: field \\"id\\" is missing/);
  });

  test('one that is no record ends the request, and those before it are kept', async (t) => {
    const client = await served(t);
    for (const [index, [line, message]] of BROKEN_LINES.entries()) {
      const body = `{"value":"kept"}\n${line}\n{"value":"not reached"}\n`;
      const answer = await client.ask('POST', CREATE, { body, headers: LINES });
      assert.deepEqual([answer.status, answer.code], [400, 'ERR_MILLRACE_INVALID_ARGUMENT'], line);
      assert.match(String(answer.json()['detail']), message);
      const ranges = [{ firstOffset: index, records: 1 }];
      assert.deepEqual(answer.json()['kept'], { records: 1, duplicates: 0, ranges });
    }
    assert.deepEqual(
      await values(client),
      BROKEN_LINES.map(() => 'kept'),
    );
  });

  test('a line that is not UTF-8 is refused, instead of being stored as something else', async (t) => {
    const client = await served(t);
    const body = Buffer.concat([Buffer.from('{"value":"'), Buffer.from([0xff]), Buffer.from('"}\n')]);
    const answer = await client.ask('POST', CREATE, { body, headers: LINES });
    assert.match(answer.text, /line 1: it is not UTF-8/);
  });

  test('a body larger than the ring passes through it, with a bounded part of it on the way', async (t) => {
    const client = await served(t, {}, { wal: { slots: 2, slotBytes: 1024 * 1024 } });
    const record = `{"value":"${'x'.repeat(8_000)}"}\n`;
    const request = client.start('POST', CREATE, LINES);
    const answer = answerOf(request);
    let queuedBytes = 0;
    for (let round = 0; round < 100; round += 1) {
      if (!request.write(record.repeat(16))) await new Promise((resolve) => request.once('drain', resolve));
      queuedBytes = Math.max(queuedBytes, client.store.stats().ring?.queuedBytes ?? 0);
    }
    request.end();
    assert.equal((await answer).json()['records'], 1_600);
    assert.ok(queuedBytes < 6 * 1024 * 1024, `${queuedBytes} bytes waited for a ring of 2 MiB`);
  });

  test('of a client that leaves midway, what arrived whole is kept, and the server goes on', async (t) => {
    const client = await served(t);
    await client.ask('PUT', '/v1/streams/orders');
    const request = client.start('POST', RECORDS, LINES);
    request.on('error', () => undefined);
    request.write('{"value":"whole"}\n{"value":"ha');
    const stream = await client.store.stream('orders');
    for await (const record of stream.read({ follow: true, limit: 1 })) assert.equal(String(record.value), 'whole');
    request.destroy();
    assert.equal((await client.get('/readyz')).status, 200);
    assert.deepEqual(await values(client), ['whole']);
  });
});

suite('publishers', () => {
  const headers = { ...LINES, 'millrace-publisher': 'sensor%207', 'millrace-publishing-id': '10' };
  const lines = [{ value: 'a' }, { value: 'b' }];

  test('what is sent again is a duplicate, also in part, and after the store was opened anew', async (t) => {
    const client = await served(t);
    const first = await client.ask('POST', CREATE, { headers, lines });
    const kept = { records: 2, duplicates: 0, ranges: [{ firstOffset: 0, records: 2 }], nextPublishingId: 12 };
    assert.deepEqual(first.json(), kept);
    const again = await client.ask('POST', RECORDS, { headers, lines: [...lines, { value: 'c' }] });
    const more = { records: 1, duplicates: 2, ranges: [{ firstOffset: 2, records: 1 }], nextPublishingId: 13 };
    assert.deepEqual(again.json(), more);
    await client.reopen();
    const anew = await client.ask('POST', RECORDS, { headers, lines: [...lines, { value: 'c' }] });
    assert.equal(anew.json()['duplicates'], 3);
    assert.deepEqual(await values(client), ['a', 'b', 'c']);
    const last = await client.get('/v1/streams/orders/publishers/sensor%207');
    assert.deepEqual(last.json(), { reference: 'sensor 7', lastPublishingId: 12 });
    const none = await client.get('/v1/streams/orders/publishers/other');
    assert.deepEqual(none.json(), { reference: 'other', lastPublishingId: null });
  });

  test('one record at a time, the answer of a duplicate names the offset of the latest', async (t) => {
    const client = await served(t);
    const one = { ...headers, ...BYTES };
    const first = await client.ask('POST', CREATE, { headers: one, body: 'a' });
    const again = await client.ask('POST', RECORDS, { headers: one, body: 'a' });
    assert.deepEqual(
      [first.json(), again.json()],
      [
        { offset: 0, duplicate: false },
        { offset: 0, duplicate: true },
      ],
    );
  });

  test('after a line was refused, the whole sent again completes what was kept', async (t) => {
    const client = await served(t);
    const body = '{"value":"a"}\n{"value":"b"\n';
    const refused = await client.ask('POST', CREATE, { headers, body });
    assert.equal((refused.json()['kept'] as Record<string, unknown>)['nextPublishingId'], 11);
    await client.ask('POST', RECORDS, { headers, lines });
    assert.deepEqual(await values(client), ['a', 'b']);
  });

  test('a record that is too large leaves no later id behind that would make a duplicate of it', async (t) => {
    const client = await served(t, {}, { maxRecordBytes: 1_000 });
    await client.ask('PUT', '/v1/streams/orders');
    const request = client.start('POST', RECORDS, headers);
    const answer = answerOf(request);
    request.write(`{"value":"a"}\n{"value":"${'x'.repeat(1_001)}"}\n`);
    request.end(`{"value":"c"}\n`.repeat(10_000));
    assert.equal((await answer).status, 413);
    const fitting = [{ value: 'a' }, { value: 'b' }, { value: 'c' }];
    assert.equal((await client.ask('POST', RECORDS, { headers, lines: fitting })).status, 200);
    assert.deepEqual(await values(client), ['a', 'b', 'c']);
  });

  test('headers that name no publisher and id are refused', async (t) => {
    const client = await served(t);
    for (const wrong of [
      { 'millrace-publisher': 's' },
      { 'millrace-publishing-id': '1' },
      { 'millrace-publisher': 's', 'millrace-publishing-id': '-1' },
      { 'millrace-publisher': '%', 'millrace-publishing-id': '1' },
      { 'millrace-publisher': '%00', 'millrace-publishing-id': '1' },
    ]) {
      const answer = await client.ask('POST', CREATE, { headers: { ...LINES, ...wrong }, lines });
      assert.equal(answer.status, 400, JSON.stringify(wrong));
    }
  });
});

suite('one record', () => {
  test('is the body as it is, with a key and a timestamp of the query', async (t) => {
    const client = await served(t);
    const body = Buffer.from([0, 255, 10, 13]);
    const answer = await client.ask('POST', `${CREATE}&key=k%C3%A4&timestamp=9`, { headers: BYTES, body });
    assert.deepEqual(answer.json(), { offset: 0, duplicate: false });
    const record = await (await client.store.stream('orders')).get(0);
    assert.deepEqual([record?.value, String(record?.key), record?.timestamp], [body, 'kä', 9]);
  });

  test('of nothing is an empty value', async (t) => {
    const client = await served(t);
    await client.ask('POST', CREATE, { headers: BYTES });
    assert.deepEqual(await values(client), ['']);
  });
});

const REFUSED = [
  ['no content type', '', {}, 'x', 415],
  ['a form', '', { 'content-type': 'application/x-www-form-urlencoded' }, 'x', 415],
  ['a compressed body', '', { ...LINES, 'content-encoding': 'gzip' }, 'x', 415],
  ['a line that is too long', '', LINES, `{"value":"${'x'.repeat(3_000)}"}`, 413],
  ['a body that is too long', '', LINES, '{"value":"x"}\n'.repeat(1_000), 413],
  ['a record that is too long', '', BYTES, 'x'.repeat(3_000), 413],
  ['a misspelt query', '&crate=1', LINES, '', 400],
  ['a key beside lines', '&key=k', LINES, '', 400],
  ['a key field beside records', '&keyField=k', LINES, '', 400],
  ['an unknown format', '&format=csv', LINES, '', 400],
  ['a broken timestamp', '&timestamp=x', BYTES, '', 400],
] as const;

suite('refusals', () => {
  test('a stream that does not exist is not made by a typo', async (t) => {
    const client = await served(t);
    const answer = await client.ask('POST', RECORDS, { lines: [{ value: 'a' }] });
    assert.deepEqual([answer.status, answer.code], [404, 'ERR_MILLRACE_STREAM_NOT_FOUND']);
    assert.deepEqual(await client.store.streams(), []);
  });

  test('each has a status and a code', async (t) => {
    const client = await served(t, { maxBodyBytes: 10_000, maxLineBytes: 2_000 });
    for (const [what, query, headers, body, status] of REFUSED) {
      const answer = await client.ask('POST', `${CREATE}${query}`, { headers, body });
      assert.equal(answer.status, status, `${what}: ${answer.text}`);
      assert.match(String(answer.code), /^ERR_MILLRACE_/);
    }
  });

  test('a body that grows beyond the limit without having been announced is refused', async (t) => {
    const client = await served(t, { maxBodyBytes: 10_000 });
    const request = client.start('POST', CREATE, LINES);
    const answer = answerOf(request);
    request.on('error', () => undefined);
    for (let round = 0; round < 4; round += 1) request.write('{"value":"x"}\n'.repeat(250));
    const { status, code } = await answer;
    assert.deepEqual([status, code], [413, 'ERR_MILLRACE_BAD_REQUEST']);
    request.destroy();
  });
});
