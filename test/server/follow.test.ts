/** Followers over HTTP: server-sent events that go on where the client was, and end when it leaves. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { suite, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { until } from '../support/child-processes.ts';
import { numbered } from '../support/test-store.ts';
import { responseOf, served, type ServedStore } from './server-fixture.ts';

const FOLLOW = '/v1/streams/orders/follow';

/** What is reachable, in bytes. */
function memoryInUse(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** A client that reads event by event. */
class Follower {
  readonly request: ClientRequest;
  readonly #blocks: AsyncGenerator<string>;

  private constructor(request: ClientRequest, response: IncomingMessage) {
    this.request = request;
    this.#blocks = blocksOf(response);
  }

  static async start(client: ServedStore, query = '', headers: Record<string, string> = {}): Promise<Follower> {
    const request = client.start('GET', FOLLOW + query, headers);
    const response = responseOf(request);
    request.end();
    assert.equal((await response).headers['content-type'], 'text/event-stream');
    const follower = new Follower(request, await response);
    assert.equal(await follower.next(), 'retry: 2000');
    return follower;
  }

  /** The next event or comment; `undefined` at the end. */
  async next(): Promise<string | undefined> {
    return ((await this.#blocks.next()) as IteratorResult<string, undefined>).value;
  }

  async values(count: number): Promise<unknown[]> {
    const values: unknown[] = [];
    while (values.length < count) {
      const [, id, data] = /^id: (\d+)\ndata: (.*)$/.exec((await this.next()) ?? '') ?? [];
      const record = JSON.parse(data ?? '{}') as { offset?: number; value?: string };
      assert.equal(String(record.offset), id, 'the id of an event is the offset of its record');
      values.push(record.value);
    }
    return values;
  }
}

async function* blocksOf(response: IncomingMessage): AsyncGenerator<string> {
  let text = '';
  for await (const chunk of response) {
    text += String(chunk);
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    yield* blocks;
  }
}

suite('followers', () => {
  test('get what becomes durable, and go on behind the last event they have seen', async (t) => {
    const client = await served(t);
    const orders = await client.store.stream('orders');
    await orders.append('before');
    const follower = await Follower.start(client);
    await orders.appendMany(['one\ndata: forged\n\n', 'two']);
    assert.deepEqual(await follower.values(2), ['one\ndata: forged\n\n', 'two']);
    follower.request.destroy();
    const resumed = await Follower.start(client, '?from=first', { 'last-event-id': '1' });
    assert.deepEqual(await resumed.values(1), ['two']);
    await orders.append('three');
    assert.deepEqual(await resumed.values(1), ['three']);
    resumed.request.destroy();
    const fromStart = await Follower.start(client, '?from=first&limit=1');
    assert.deepEqual(await fromStart.values(1), ['before']);
    assert.equal(await fromStart.next(), 'event: end\ndata: {}');
    assert.equal(await fromStart.next(), undefined);
  });

  test('are told what was removed before they could have it', async (t) => {
    const client = await served(t);
    const orders = await client.store.stream('orders');
    await orders.appendMany(numbered(10));
    await orders.trim(8);
    const follower = await Follower.start(client, '?onTrimmed=skip', { 'last-event-id': '2' });
    assert.equal(await follower.next(), 'event: skipped\ndata: {"from":3,"to":8}');
    assert.deepEqual(await follower.values(2), ['record 8', 'record 9']);
    follower.request.destroy();
    assert.equal((await client.get(FOLLOW, { 'last-event-id': '2' })).status, 416);
    assert.equal((await client.get(FOLLOW, { 'last-event-id': 'x' })).status, 400);
    assert.equal((await client.get('/v1/streams/none/follow')).status, 404);
  });

  test('get signs of life while nothing happens, and a problem when their stream is deleted', async (t) => {
    const client = await served(t, { heartbeatInterval: 20 });
    await client.store.stream('orders');
    const follower = await Follower.start(client);
    assert.equal(await follower.next(), ': heartbeat');
    await client.store.deleteStream('orders');
    let last = await follower.next();
    while (last === ': heartbeat') last = await follower.next();
    assert.match(last ?? '', /^event: problem\ndata: .*"ERR_MILLRACE_STREAM_NOT_FOUND"/);
  });

  test('may be hundreds that wait: each takes little memory, gets the next record, and leaves nothing behind', async (t) => {
    const count = 300;
    const client = await served(t, { maxFollowers: count });
    const orders = await client.store.stream('orders');
    const { hostname, port, host } = new URL(client.server.url);
    const follow = `GET ${FOLLOW} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
    const sockets: Socket[] = [];
    t.after(() => {
      for (const socket of sockets) socket.destroy();
    });
    const text = async (socket: Socket, wanted: string): Promise<void> => {
      for (let seen = ''; !seen.includes(wanted);) {
        const [piece] = (await once(socket, 'data')) as [Buffer];
        seen += piece.toString();
      }
    };
    const before = memoryInUse();
    for (let begun = 0; begun < count; begun += 100) {
      const next = Array.from({ length: 100 }, () => connect(Number(port), hostname));
      sockets.push(...next);
      await Promise.all(
        next.map((socket) => {
          socket.write(follow);
          return text(socket, 'retry: 2000\n\n');
        }),
      );
    }
    // Of both ends of the connection, which are in one process here.
    const each = (memoryInUse() - before) / count;
    assert.ok(each < 64 * 1024, `${each} bytes for each follower`);
    assert.equal((await client.get(FOLLOW)).code, 'ERR_MILLRACE_TOO_MANY_REQUESTS');
    const received = Promise.all(sockets.map((socket) => text(socket, 'a sack of flour')));
    await orders.append('a sack of flour');
    await received;
    for (const socket of sockets) socket.destroy();
    await until('all to be gone', async () => (await client.get('/metrics')).text.includes('http_followers 0\n'));
  });

  test('are so many at most, and one that leaves makes room', async (t) => {
    const client = await served(t, { maxFollowers: 1 });
    await client.store.stream('orders');
    const follower = await Follower.start(client);
    const refused = await client.get(FOLLOW);
    assert.deepEqual([refused.status, refused.code], [429, 'ERR_MILLRACE_TOO_MANY_REQUESTS']);
    assert.equal(refused.headers['retry-after'], '1');
    follower.request.destroy();
    await until('room for another', async () => (await client.get('/metrics')).text.includes('http_followers 0\n'));
    (await Follower.start(client)).request.destroy();
  });

  test('that read nothing are sent no more than fits, and are cut off when they stay silent', async (t) => {
    const client = await served(t, { idleTimeout: 1_000 });
    const orders = await client.store.stream('orders');
    for (let round = 0; round < 16; round += 1) await orders.appendMany(Array<string>(100).fill('x'.repeat(10_000)));
    const request = client.start('GET', `${FOLLOW}?from=first`);
    const response = responseOf(request);
    request.end();
    const cut = new Promise((resolve) => request.once('close', resolve));
    const silent = await response;
    silent.on('error', () => undefined);
    // On a busy machine a question may be cut off, too.
    const metrics = async (): Promise<string> => client.get('/metrics').then(({ text }) => text, String);
    await until('the end of the follower', async () => (await metrics()).includes('followers 0\n'));
    silent.resume();
    await cut;
    assert.equal(silent.complete, false);
  });
});
