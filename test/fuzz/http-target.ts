/** Requests to the HTTP server of a store, mangled in every part: answered as the client's fault, or as they ask. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { join } from 'node:path';
import { open, type Store } from '../../src/index.ts';
import { serve, type StoreServer } from '../../src/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import type { Field } from './edits.ts';
import type { Target } from './target.ts';

const HEAD_END = '\r\n\r\n';
/** What a request that is never whole, or follows a stream, may take. */
const PATIENCE = 300;
/** Faults of the server that a request may be told of: an outage, and what the store does not offer. */
const EXCUSED = new Set([501, 503, 505, 507]);

function request(method: string, path: string, headers: readonly string[] = [], body = ''): Uint8Array {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers];
  if (body !== '') head.push(`Content-Length: ${Buffer.byteLength(body)}`);
  return new Uint8Array(Buffer.from(`${head.join('\r\n')}${HEAD_END}${body}`));
}

const LINES = 'Content-Type: application/x-ndjson';
const JSON_BODY = 'Content-Type: application/json';

const SAMPLES = [
  request('GET', '/v1/streams?details=true&limit=10'),
  request('GET', '/v1/streams/orders'),
  request('PUT', '/v1/streams/orders', [JSON_BODY], '{"compression":"lz4","retention":{"maxBytes":100000}}'),
  request('PATCH', '/v1/streams/orders', [JSON_BODY], '{"retention":{"maxAge":86400000}}'),
  request('POST', '/v1/streams/orders/trim', [JSON_BODY], '{"beforeOffset":1}'),
  request('POST', '/v1/streams/orders/records?create=true', [LINES], '{"value":"a","key":"k"}\n{"value":"b"}\n'),
  request(
    'POST',
    '/v1/streams/orders/records?create=true',
    ['Millrace-Publisher: sensor-7', 'Millrace-Publishing-Id: 42', 'Content-Type: application/octet-stream'],
    'one record',
  ),
  request('GET', '/v1/streams/orders/records?from=@2024-01-01&limit=5&onTrimmed=skip'),
  request('GET', '/v1/streams/orders/records/0'),
  request('GET', '/v1/streams/orders/consumers'),
  request('PUT', '/v1/streams/orders/consumers/billing?durable=true', [JSON_BODY], '{"offset":0}'),
  request('DELETE', '/v1/streams/orders/consumers/billing'),
  request('GET', '/v1/streams/orders/publishers/sensor-7'),
  request('GET', '/metrics'),
];

/** A store and its server, made when the first request is sent. They end with the process. */
class ServedStore {
  #server: Promise<StoreServer> | undefined;
  store: Store | undefined;

  get(): Promise<StoreServer> {
    this.#server ??= this.#start();
    return this.#server;
  }

  async close(): Promise<void> {
    const server = await this.#server;
    await server?.close();
    await this.store?.close();
  }

  async #start(): Promise<StoreServer> {
    const directory = temporaryDirectory();
    process.on('exit', () => {
      directory.remove();
    });
    this.store = await open({ dir: join(directory.path, 'store'), wal: { slots: 2, slotBytes: 256 * 1024 } });
    return serve(this.store, { port: 0, shutdownGrace: 100 });
  }
}

/** Sends bytes, and returns what came back until the server closed, or patience ended. */
function exchange(port: number, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let answer = '';
    const done = (): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(PATIENCE, done);
    socket.on('data', (data) => (answer += data.toString('latin1')));
    socket.on('end', done);
    socket.on('error', done);
    socket.end(bytes);
  });
}

/** Makes the length of the body what the header says. */
function repairLength(bytes: Uint8Array): void {
  const text = Buffer.from(bytes).toString('latin1');
  const bodyAt = text.indexOf(HEAD_END) + HEAD_END.length;
  const match = /Content-Length: (\d+)/.exec(text);
  if (match === null || bodyAt < HEAD_END.length) return;
  const digits = match[1] ?? '';
  const length = String(bytes.length - bodyAt);
  // In place: a length of other digits stays wrong, which is a case of its own.
  if (length.length === digits.length) bytes.set(Buffer.from(length), match.index + 'Content-Length: '.length);
}

export function httpTarget(): Target {
  const served = new ServedStore();
  return {
    name: 'HTTP requests',
    samples: SAMPLES,
    fieldsOf: (bytes): Field[] => Array.from({ length: bytes.length }, (_, at) => ({ at, bytes: 1 })),
    repair: repairLength,
    run: async (bytes) => {
      const server = await served.get();
      const answer = await exchange(Number(new URL(server.url).port), bytes);
      if (answer === '') return;
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
      assert.ok(status >= 200 && (status < 500 || EXCUSED.has(status)), answer.slice(0, 300));
      assert.equal(served.store?.stats().wal?.failure, undefined, 'the store takes appends');
    },
    close: () => served.close(),
  };
}
