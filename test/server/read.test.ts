/** Reads over HTTP: ranges as lines, single records as they are, and streams with their settings and consumers. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { ROUTES } from '../../src/server/routes.ts';
import { numbered } from '../support/test-store.ts';
import { answerOf, served } from './server-fixture.ts';

const STREAM = '/v1/streams/orders';
const RECORDS = `${STREAM}/records`;
const HOSTILE = '<script>alert(1)</script>\u2028\n';

const offsetsOf = (records: readonly Record<string, unknown>[]): unknown[] => records.map(({ offset }) => offset);

suite('ranges', () => {
  test('begin and end where the query says', async (t) => {
    const client = await served(t);
    const orders = await client.store.stream('orders');
    await orders.appendMany(numbered(20).map((value, index) => ({ value, timestamp: 1_000 + index })));
    await orders.storeOffset('billing', 16);
    const read = async (query: string): Promise<unknown[]> => offsetsOf(await client.read(`${RECORDS}?${query}`));
    assert.deepEqual(await read('limit=3'), [0, 1, 2]);
    assert.deepEqual(await read('from=7&limit=2'), [7, 8]);
    assert.deepEqual(await read('from=last'), [19]);
    assert.deepEqual(await read('from=next'), []);
    assert.deepEqual(await read('from=20'), []);
    assert.deepEqual(await read('limit=0'), []);
    assert.deepEqual(await read('from=@1018'), [18, 19]);
    assert.deepEqual(await read('from=@1970-01-01T00:00:01.019Z'), [19]);
    assert.deepEqual(await read('consumer=billing'), [17, 18, 19]);
    await orders.trim(5);
    assert.deepEqual(await read('from=first&limit=1'), [5]);
    assert.deepEqual(await read('from=2&onTrimmed=skip&limit=1'), [5]);
    for (const [query, status] of [
      ['from=2', 416],
      ['from=21', 416],
      ['from=-1', 400],
      ['from=soon', 400],
      ['from=@never', 400],
      ['limit=1e3', 400],
      ['limit=99999999999999999999', 400],
      ['from=1&consumer=billing', 400],
      ['consumer=', 400],
      ['onTrimmed=maybe', 400],
      ['form=1', 400],
    ] as const) {
      assert.equal((await client.get(`${RECORDS}?${query}`)).status, status, query);
    }
  });

  test('hold a thousand records unless more are asked for, whatever the batches are', async (t) => {
    const client = await served(t);
    await (await client.store.stream('orders')).appendMany(numbered(5_000));
    assert.equal((await client.read(RECORDS)).length, 1_000);
    const all = await client.read(`${RECORDS}?limit=1000000`);
    assert.deepEqual(offsetsOf(all), numbered(5_000, '').map(Number));
  });

  test('that meet damage break off instead of ending', async (t) => {
    const client = await served(t);
    const orders = await client.store.stream('orders', { compression: 'none' });
    await orders.appendMany(numbered(20_000, 'a record that is long enough '));
    await client.store.flush();
    const names = readdirSync(client.folder.path('objects'), { recursive: true, encoding: 'utf8' });
    const file = client.folder.path(
      'objects',
      names
        .filter((name) => name.endsWith('.seg'))
        .sort()
        .at(-1) ?? '',
    );
    const bytes = readFileSync(file);
    bytes[Math.floor(bytes.length * 0.8)]! ^= 0xff;
    writeFileSync(file, bytes);
    const request = client.start('GET', `${RECORDS}?limit=1000000`);
    const answer = answerOf(request);
    request.end();
    await assert.rejects(answer, { code: 'ECONNRESET' });
  });
});

suite('one record', () => {
  test('is its value, never a page, with the rest in headers', async (t) => {
    const client = await served(t);
    const orders = await client.store.stream('orders');
    await orders.append(HOSTILE, { key: 'ä\n', timestamp: 7 });
    await orders.append(null, { key: Buffer.from([255]) });
    await orders.append('x', { key: 'k'.repeat(3_000) });
    const first = await client.get(`${RECORDS}/0`);
    assert.equal(first.text, HOSTILE);
    assert.equal(first.headers['millrace-key'], '%C3%A4%0A');
    assert.equal(first.headers['millrace-timestamp'], '7');
    assert.equal(first.headers['content-type'], 'application/octet-stream');
    assert.equal(first.headers['content-disposition'], 'attachment');
    assert.equal(first.headers['x-content-type-options'], 'nosniff');
    assert.match(String(first.headers['content-security-policy']), /default-src 'none'.*sandbox/);
    const second = await client.get(`${RECORDS}/1`);
    assert.deepEqual([second.text, second.headers['millrace-tombstone']], ['', 'true']);
    assert.equal(second.headers['millrace-key-base64'], '/w==');
    assert.equal((await client.get(`${RECORDS}/2`)).headers['millrace-key-bytes'], '3000');
    assert.equal((await client.get(`${RECORDS}/3`)).status, 404);
    assert.equal((await client.get(`${RECORDS}/x`)).status, 400);
  });
});

suite('streams', () => {
  test('are made, changed, listed in pages, trimmed and deleted', async (t) => {
    const client = await served(t);
    const made = await client.ask('PUT', STREAM, { json: { compression: 'none', retention: { maxBytes: 1_000_000 } } });
    assert.equal(made.status, 201);
    const changed = await client.ask('PATCH', STREAM, { json: { cleanup: 'compact' } });
    const config = { compression: 'none', cleanup: 'compact', retention: { maxBytes: 1_000_000 } };
    assert.deepEqual(changed.json(), { name: 'orders', config });
    assert.equal((await client.ask('PUT', STREAM)).status, 200, 'again, with nothing to change');
    await (await client.store.stream('orders')).appendMany(numbered(10));
    for (const name of ['a%20b', '%E2%82%AC', 'zebra']) await client.ask('PUT', `/v1/streams/${name}`);
    const page = await client.get('/v1/streams?limit=2');
    const names = (list: { streams: { name: string }[] }): string[] => list.streams.map(({ name }) => name);
    assert.deepEqual([names(page.json()), page.json()['next'], page.json()['total']], [['a b', 'orders'], 'orders', 4]);
    const rest = await client.get('/v1/streams?after=orders&details=true');
    assert.deepEqual([names(rest.json()), rest.json()['next']], [['zebra', '€'], undefined]);
    assert.deepEqual(names((await client.get('/v1/streams?contains=rde')).json()), ['orders']);
    const trimmed = await client.ask('POST', `${STREAM}/trim`, { json: { before: 4 } });
    assert.deepEqual(trimmed.json(), { firstOffset: 4, nextOffset: 10 });
    const info = (await client.get(STREAM)).json();
    assert.deepEqual([info['records'], info['firstOffset'], info['consumers']], [6, 4, []]);
    assert.equal((await client.ask('DELETE', STREAM)).status, 204);
    assert.equal((await client.ask('DELETE', STREAM)).status, 404);
    assert.equal((await client.get(STREAM)).status, 404);
  });

  test('tell consumers how far they are', async (t) => {
    const client = await served(t);
    await (await client.store.stream('orders')).appendMany(numbered(10));
    const billing = `${STREAM}/consumers/bill%2Fing`;
    assert.equal((await client.get(billing)).status, 404);
    const stored = await client.ask('PUT', `${billing}?durable=true`, { json: { offset: 3 } });
    assert.deepEqual(stored.json(), { reference: 'bill/ing', offset: 3 });
    assert.deepEqual((await client.get(billing)).json(), { reference: 'bill/ing', offset: 3 });
    const { consumers } = (await client.get(`${STREAM}/consumers`)).json();
    assert.deepEqual(consumers, [{ reference: 'bill/ing', offset: 3, lag: 6 }]);
    assert.equal((await client.ask('PUT', billing, { json: { offset: 10 } })).status, 416);
    assert.equal((await client.ask('DELETE', billing)).status, 204);
    assert.equal((await client.ask('DELETE', billing)).status, 404);
  });

  test('settings that are none are refused, and so is a body of another type', async (t) => {
    const client = await served(t);
    await client.ask('PUT', STREAM);
    const headers = { 'content-type': 'text/plain' };
    for (const [method, path, ask, status] of [
      ['PUT', STREAM, { json: { compresion: 'none' } }, 400],
      ['PUT', STREAM, { json: [] }, 400],
      ['PUT', STREAM, { body: '{"cleanup":"compact"}', headers }, 415],
      ['PUT', STREAM, { json: { compression: 'x'.repeat(70_000) } }, 413],
      ['PATCH', '/v1/streams/other', { json: {} }, 404],
      ['PUT', '/v1/streams/a%2Fb', {}, 400],
      ['PUT', '/v1/streams/..', {}, 400],
      ['PUT', '/v1/streams/%2e%2e', {}, 400],
      ['PUT', '/v1/streams/%ff', {}, 400],
      ['POST', `${STREAM}/trim`, { json: { before: 'all' } }, 400],
      ['POST', `${STREAM}/trim`, { json: { before: 1 } }, 416],
      ['PUT', `${STREAM}/consumers/c`, { json: { offset: '1' } }, 400],
    ] as const) {
      const answer = await client.ask(method, path, ask);
      assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
    }
    assert.deepEqual(
      (await client.store.streams()).map(({ name }) => name),
      ['orders'],
    );
  });
});

suite('state', () => {
  test('health, readiness, metrics and stats', async (t) => {
    const client = await served(t);
    assert.deepEqual((await client.get('/healthz')).json(), { status: 'ok' });
    assert.deepEqual((await client.get('/readyz')).json(), { status: 'ready' });
    assert.equal((await client.get('/v1/stats')).json<{ ring: { slots: number } }>().ring.slots, 2);
    const { text, headers } = await client.get('/metrics');
    assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/);
    assert.match(text, /^millrace_streams 0$/m);
    assert.match(text, /^millrace_http_requests_total\{operation="getHealth",status="200"\} 1$/m);
  });

  test('a path or a method that there is none for is refused, and no path leads to a file', async (t) => {
    const client = await served(t);
    for (const path of ['/nothing', '/v1/streams/a/b/c/d', '/../../etc/passwd', '/..%2f..%2fetc%2fpasswd', '//', '*']) {
      const answer = await client.get(path);
      assert.deepEqual([answer.status, answer.code], [404, 'ERR_MILLRACE_BAD_REQUEST'], path);
    }
    const wrong = await client.ask('DELETE', RECORDS);
    assert.deepEqual([wrong.status, wrong.headers.allow], [405, 'POST, GET, HEAD']);
  });

  test('HEAD is answered wherever GET is: the same without the body, also where that would never end', async (t) => {
    const client = await served(t);
    const orders = await client.store.stream('orders');
    await orders.append('a sack of flour', { key: 'k' });
    await orders.storeOffset('billing', 0);
    await orders.publisher('p').append(1, 'x');
    const names: Record<string, string> = { stream: 'orders', consumer: 'billing', publisher: 'p', offset: '0' };
    for (const { path, operation } of ROUTES.filter(({ method }) => method === 'GET')) {
      const place = path.replace('{file}', 'app.js').replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? '');
      const { status, text, headers } = await client.ask('HEAD', place);
      assert.deepEqual({ operation, status, text }, { operation, status: 200, text: '' });
      if (operation === 'readRecord') {
        assert.deepEqual([headers['content-length'], headers['millrace-key']], ['15', 'k']);
      }
    }
    assert.equal((await client.ask('HEAD', `${STREAM}/records/9`)).status, 404);
    const missing = await client.get(`${STREAM}/records/9`);
    assert.deepEqual([missing.status, missing.code], [404, 'ERR_MILLRACE_OFFSET_OUT_OF_RANGE']);
    assert.equal((await client.ask('HEAD', '/v1/streams/none/follow')).status, 404);
    assert.match((await client.get('/metrics')).text, /^millrace_http_followers 0$/m);
  });
});
