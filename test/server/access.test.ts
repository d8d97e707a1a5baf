/** Who may ask a server: by name, by origin, by token. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { suite, test } from 'node:test';
import { text } from 'node:stream/consumers';
import { serve } from '../../src/server.ts';
import { Access, isLoopback } from '../../src/server/access.ts';
import { ERROR_CODES, type ErrorCode } from '../../src/errors/codes.ts';
import { MillraceError } from '../../src/errors/millrace-error.ts';
import { problemOf } from '../../src/server/problem.ts';
import { coded, openStore } from '../support/test-store.ts';
import { served } from './server-fixture.ts';

const TOKEN = 'correct horse battery'.replaceAll(' ', '-');
const STREAMS = '/v1/streams';

suite('names', () => {
  const access = new Access({ loopback: true, allowedHosts: ['mill.example'], token: undefined });

  test('of this machine, and those that were allowed, are answered for; any other may be DNS rebinding', () => {
    for (const host of ['localhost', 'LOCALHOST:80', '127.0.0.1:6455', '[::1]:6455', 'mill.example', 'localhost.:1']) {
      access.checkHost({ host });
    }
    for (const host of ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:6455', '', '192.168.0.1']) {
      assert.throws(() => access.checkHost({ host }), coded('ERR_MILLRACE_BAD_REQUEST'));
    }
    assert.throws(() => access.checkHost({}), coded('ERR_MILLRACE_BAD_REQUEST'));
  });

  test('do not matter where a token is asked for, unless some were allowed', () => {
    new Access({ loopback: false, allowedHosts: [], token: TOKEN }).checkHost({ host: 'any.example' });
    const strict = new Access({ loopback: false, allowedHosts: ['mill.example'], token: TOKEN });
    assert.throws(() => strict.checkHost({ host: 'any.example' }), coded('ERR_MILLRACE_BAD_REQUEST'));
  });

  test('of addresses tell this machine from others', () => {
    for (const address of ['127.0.0.1', '127.9.9.9']) assert.ok(isLoopback(address, 4));
    assert.ok(isLoopback('::1', 6));
    for (const address of ['0.0.0.0', '10.0.0.1', '128.0.0.1']) assert.ok(!isLoopback(address, 4));
    assert.ok(!isLoopback('::', 6));
  });
});

suite('origins', () => {
  test('a page of another origin is refused, whatever it asks; programs and the own page are not', async (t) => {
    const client = await served(t);
    const host = client.server.url.slice('http://'.length);
    for (const headers of [
      {},
      { origin: client.server.url },
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
    ]) {
      assert.equal((await client.get(STREAMS, headers)).status, 200, JSON.stringify(headers));
    }
    for (const headers of [
      { origin: 'http://evil.example' },
      { origin: 'null' },
      { origin: `http://evil.example/${host}` },
      { origin: 'http://localhost:1' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]) {
      const answer = await client.ask('PUT', `${STREAMS}/forged`, { headers });
      assert.deepEqual([answer.status, answer.code], [403, 'ERR_MILLRACE_BAD_REQUEST'], JSON.stringify(headers));
      assert.equal(answer.headers['access-control-allow-origin'], undefined);
    }
    assert.equal((await client.get(STREAMS, { host: 'evil.example' })).status, 421);
    assert.deepEqual(await client.store.streams(), []);
  });
});

suite('tokens', () => {
  test('are asked for by all that tells or changes something, and by nothing else', async (t) => {
    const client = await served(t, { token: TOKEN });
    for (const path of ['/healthz', '/readyz', '/openapi.json']) assert.equal((await client.get(path)).status, 200);
    for (const path of [STREAMS, '/metrics', '/v1/stats', `${STREAMS}/a`, `${STREAMS}/a/records`]) {
      const answer = await client.get(path);
      assert.deepEqual([answer.status, answer.code], [401, 'ERR_MILLRACE_UNAUTHORIZED'], path);
      assert.match(String(answer.headers['www-authenticate']), /^Bearer/);
    }
    for (const authorization of [
      '',
      'Bearer',
      'Bearer wrong',
      `Basic ${TOKEN}`,
      `Bearer ${TOKEN}x`,
      `Bearer ${TOKEN.slice(1)}`,
    ]) {
      assert.equal((await client.get(STREAMS, { authorization })).status, 401, authorization);
    }
    assert.equal((await client.get(STREAMS, { authorization: `Bearer ${TOKEN}` })).status, 200);
    assert.equal((await client.get(STREAMS, { authorization: `bearer  ${TOKEN}` })).status, 200);
  });

  test('a server that others can reach does not start without one', async (t) => {
    const store = await openStore(t);
    for (const host of ['0.0.0.0', '::']) {
      await assert.rejects(serve(store, { host, port: 0 }), coded('ERR_MILLRACE_INVALID_ARGUMENT', 'token'));
    }
    await using server = await serve(store, { host: '0.0.0.0', port: 0, token: TOKEN });
    assert.match(server.url, /^http:\/\/0\.0\.0\.0:\d+$/);
  });

  test('options that are none, and ports that cannot be had, are coded errors', async (t) => {
    const store = await openStore(t);
    for (const [options, mention] of [
      [{ token: 'short' }, 'token'],
      [{ token: 'has spaces in it, and is long' }, 'token'],
      [{ port: 65_536 }, 'port'],
      [{ maxFollowers: -1 }, 'maxFollowers'],
      [{ idleTimeout: 100, heartbeatInterval: 100 }, 'heartbeatInterval'],
      [{ host: '' }, 'host'],
      [{ prot: 1 }, 'prot'],
    ] as const) {
      await assert.rejects(serve(store, options as object), coded('ERR_MILLRACE_INVALID_ARGUMENT', mention));
    }
    await using server = await serve(store, { port: 0 });
    const port = Number(new URL(server.url).port);
    await assert.rejects(serve(store, { port }), coded('ERR_MILLRACE_UNAVAILABLE', String(port)));
    await assert.rejects(serve(store, { host: 'no-such-host.invalid' }), coded('ERR_MILLRACE_UNAVAILABLE'));
  });
});

suite('problems', () => {
  test('every error of millrace has a status; a bug tells nothing of itself', () => {
    for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
      const { problem } = problemOf(new MillraceError(code, 'message'));
      assert.ok(problem.status >= 400 && problem.status < 600, code);
      assert.ok(ERROR_CODES[code].kind !== 'corrupt' || problem.status === 500, code);
    }
    const { problem } = problemOf(new TypeError('secret'));
    assert.deepEqual(
      [problem.status, problem.code, JSON.stringify(problem).includes('secret')],
      [500, 'INTERNAL', false],
    );
  });

  test('what is no HTTP, has endless headers, or never finishes them is refused without an exchange', async (t) => {
    const patient = await served(t);
    const impatient = await served(t, { headerTimeout: 50, idleTimeout: 30_000 });
    const send = async (bytes: string, { server } = patient): Promise<string> => {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
      socket.write(bytes);
      return text(socket);
    };
    assert.match(await send('GARBAGE\r\n\r\n'), /^HTTP\/1\.1 400 /);
    assert.match(await send(`GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
    assert.match(await send('GET / HTTP/1.1\r\nhost: loc', impatient), /^HTTP\/1\.1 408 /);
    assert.match(await send('GET /healthz HTTP/1.1\r\n\r\n'), /^HTTP\/1\.1 400 /);
  });
});

test('a request that names two hosts, or a query parameter twice, is refused', async (t) => {
  const { server, get } = await served(t).then((serving) => ({
    server: serving.server,
    get: (path: string) => serving.get(path),
  }));
  const { port, host } = new URL(server.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.end(`GET /healthz HTTP/1.1\r\nhost: ${host}\r\nhost: evil.example\r\nconnection: close\r\n\r\n`);
  assert.match(await text(socket), /^HTTP\/1.1 400 /);
  const twice = await get(`${STREAMS}?limit=1&limit=2`);
  assert.deepEqual([twice.status, twice.code], [400, 'ERR_MILLRACE_BAD_REQUEST']);
});
