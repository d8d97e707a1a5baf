/** How a server stops, and `millrace serve` from the outside. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { suite, test } from 'node:test';
import { finished, nextLines, runCli, startCli } from '../cli/cli-process.ts';
import { startWriter, storeWith, withStore } from '../cli/store-fixture.ts';
import { answerOf, responseOf, served } from './server-fixture.ts';

const RECORDS = '/v1/streams/orders/records';
const LINES = { 'content-type': 'application/x-ndjson' };

suite('a server that closes', () => {
  test('finishes the append that is under way, ends followers, and takes nothing new', async (t) => {
    const client = await served(t, { shutdownGrace: 240_000 });
    const orders = await client.store.stream('orders');
    const following = client.start('GET', '/v1/streams/orders/follow');
    const follower = responseOf(following);
    following.end();
    const events = await follower;
    const appending = client.start('POST', RECORDS, LINES);
    const answer = answerOf(appending);
    appending.write('{"value":"a"}\n');
    for await (const record of orders.read({ follow: true, limit: 1 })) assert.equal(String(record.value), 'a');
    const closed = client.server.close();
    let text = '';
    for await (const chunk of events) text += String(chunk);
    assert.match(text, /^retry: .*\n\nid: 0\ndata: .*\n\n$/);
    appending.end('{"value":"b"}\n');
    assert.equal((await answer).json()['records'], 2);
    await closed;
    await assert.rejects(client.get('/healthz'), { code: 'ECONNREFUSED' });
    assert.equal((await orders.info()).durableOffset, 2, 'the store is still open');
  });

  test('cuts off what does not finish within its grace; what arrived is kept', async (t) => {
    const client = await served(t, { shutdownGrace: 50 });
    const orders = await client.store.stream('orders');
    const appending = client.start('POST', RECORDS, LINES);
    const answer = answerOf(appending);
    appending.write('{"value":"a"}\n');
    for await (const record of orders.read({ follow: true, limit: 1 })) assert.equal(String(record.value), 'a');
    await Promise.all([client.server.close(), assert.rejects(answer, { code: 'ECONNRESET' })]);
    assert.equal((await orders.info()).records, 1);
  });
});

suite('millrace serve', () => {
  test('serves a store until Ctrl-C, and closes it with all that was answered', async (t) => {
    const fixture = await storeWith({ orders: ['first'] });
    t.after(() => fixture.remove());
    const child = startCli('serve', fixture.store, '--port', '0', '--json');
    const [line = ''] = await nextLines(child, 1);
    const { url } = JSON.parse(line) as { url: string };
    const append = request(`${url}${RECORDS}`, { method: 'POST', headers: LINES });
    append.end('{"value":"second"}\n');
    assert.equal((await answerOf(append)).status, 200);
    const locked = await runCli(['serve', fixture.store, '--port', '0']);
    assert.equal(locked.code, 1);
    assert.match(locked.stderr, /ERR_MILLRACE_LOCKED: .*--read-only/);
    child.kill('SIGINT');
    const { code, stderr } = await finished(child);
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '{"note":"SIGINT: finishing what is under way"}\n' });
    const records = await withStore({ dir: fixture.store }, async (store) => (await store.stream('orders')).info());
    assert.equal(records.records, 2);
  });

  test('killed in the middle keeps every record that it has answered for', async (t) => {
    const fixture = await storeWith({ orders: ['first'] });
    t.after(() => fixture.remove());
    const child = startCli('serve', fixture.store, '--port', '0', '--json');
    const [line = ''] = await nextLines(child, 1);
    const { url } = JSON.parse(line) as { url: string };
    let answered = 0;
    for (let round = 0; round < 20; round += 1) {
      const append = request(`${url}${RECORDS}`, { method: 'POST', headers: LINES });
      append.end('{"value":"a"}\n{"value":"b"}\n');
      answered += Number((await answerOf(append)).json()['records']);
    }
    child.kill('SIGKILL');
    await finished(child);
    const info = await withStore({ dir: fixture.store }, async (store) => (await store.stream('orders')).info());
    assert.deepEqual([answered, info.records], [40, 41]);
  });

  test('with --read-only reads beside the process that writes, and changes nothing', async (t) => {
    const fixture = await storeWith({});
    const writer = await startWriter(fixture.store, 'orders', 3, 2);
    t.after(async () => {
      await writer.kill();
      fixture.remove();
    });
    const child = startCli('serve', fixture.store, '--port', '0', '--read-only');
    const [line = ''] = await nextLines(child, 1);
    const url = /http:\S+[^/](?= until)/.exec(line)?.[0] ?? '';
    const ask = (method: string, path: string): ReturnType<typeof answerOf> => {
      const asked = request(url + path, { method, headers: LINES });
      asked.end(method === 'POST' ? '{"value":"x"}\n' : undefined);
      return answerOf(asked);
    };
    assert.equal((await ask('GET', RECORDS)).text.trim().split('\n').length, 3);
    const refused = await ask('POST', RECORDS);
    assert.deepEqual([refused.status, refused.code], [403, 'ERR_MILLRACE_READ_ONLY']);
    assert.equal((await ask('DELETE', '/v1/streams/orders')).status, 403);
    assert.equal((await ask('GET', '/readyz')).status, 200);
    child.kill('SIGTERM');
    const [code] = (await once(child, 'close')) as [number];
    assert.equal(code, 0);
  });

  test('refuses to be reached by others without a token', async () => {
    const fixture = await storeWith({});
    const { code, stderr } = await runCli(['serve', fixture.store, '--port', '0', '--host', '0.0.0.0']);
    assert.equal(code, 2);
    assert.match(stderr, /ERR_MILLRACE_INVALID_ARGUMENT: .*token/);
    fixture.remove();
  });
});
