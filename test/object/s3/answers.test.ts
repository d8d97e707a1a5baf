/** The S3 store against answers that a test dictates: it needs no server but its own. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, afterEach, before, beforeEach, describe, test, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import { PART_BYTES_MIN } from '../../../src/object/s3/options.ts';
import { S3ObjectStore } from '../../../src/object/s3/s3-object-store.ts';
import { patternBytes, putObject, withCode } from '../../../src/testing/object-store-contract.ts';
import { ScriptedServer, type ReceivedRequest, type ScriptedAnswer } from '../../support/scripted-server.ts';
import { impatient, keysIn } from './s3-fixture.ts';

const CREDENTIALS = { accessKeyId: 'sentinel-id', secretAccessKey: 'sentinel-secret', sessionToken: 'sentinel-token' };

const server = new ScriptedServer();
let endpoint: string;
let store: S3ObjectStore;
before(async () => {
  endpoint = await server.listen();
});
after(() => server.close());
beforeEach(() => {
  const options = { bucket: 'bucket', prefix: 'p/', endpoint, credentials: CREDENTIALS, partBytes: PART_BYTES_MIN };
  store = new S3ObjectStore(options, impatient);
});
afterEach(() => store.close());

function failure(status: number, code: string, more = ''): ScriptedAnswer {
  return { status, body: `<Error><Code>${code}</Code>${more}</Error>` };
}

function md5(bytes: Uint8Array): Buffer {
  return createHash('md5').update(bytes).digest();
}

describe('writes', () => {
  test('every attempt sends the whole body, with its digest, as plain bytes', async () => {
    const bytes = patternBytes(3000);
    server.script(({ body }, index) =>
      index < 3 ? failure(500, 'InternalError') : { headers: { etag: `"${md5(body).toString('hex')}"` } },
    );
    assert.equal(await putObject(store, 'k', bytes), 3000);
    assert.equal(server.received.length, 4);
    for (const { body, headers, url } of server.received) {
      assert.ok(body.equals(bytes));
      assert.equal(headers['content-md5'], md5(bytes).toString('base64'));
      assert.equal(headers['content-encoding'], undefined);
      assert.equal(headers['if-none-match'], '*');
      assert.match(url, /^\/bucket\/p\/k/);
    }
  });

  test('an answer without the digest is checked by the length that was stored', async () => {
    const stored =
      (bytes: number) =>
      ({ method }: ReceivedRequest): ScriptedAnswer =>
        method === 'HEAD' ? { headers: { 'content-length': String(bytes) } } : { headers: { etag: '"opaque"' } };
    server.script(stored(3000));
    assert.equal(await putObject(store, 'k', patternBytes(3000)), 3000);
    server.script(stored(0));
    await assert.rejects(putObject(store, 'k', patternBytes(3000)), withCode('ERR_MILLRACE_WRITE_FAILED'));
  });

  test('a conflict of two writers is tried again', async () => {
    server.script(({ body }, index) =>
      index === 0
        ? failure(409, 'ConditionalRequestConflict')
        : { headers: { etag: `"${md5(body).toString('hex')}"` } },
    );
    assert.equal(await putObject(store, 'k', patternBytes(5)), 5);
  });

  test('a server without conditional writes is told apart, with the option that helps', async () => {
    server.script(() => failure(501, 'NotImplemented'));
    await assert.rejects(putObject(store, 'k', patternBytes(5)), (error: Error) => {
      assert.match(error.message, /conditionalWrites/);
      return withCode('ERR_MILLRACE_UNSUPPORTED')(error);
    });
    assert.equal(server.received.length, 1);
  });

  test('an upload without an id is not begun', async () => {
    const script = ({ method }: ReceivedRequest): ScriptedAnswer =>
      method === 'POST' ? { body: '<InitiateMultipartUploadResult/>' } : { status: 404 };
    server.script((request) =>
      request.url.startsWith('/bucket/?') || request.url === '/bucket' ? {} : script(request),
    );
    const writer = await store.create('k');
    await assert.rejects(writer.write(new Uint8Array(2 * PART_BYTES_MIN + 1)));
    await writer.abort();
    assert.ok(!server.received.some(({ method }) => method === 'PUT'));
  });
});

describe('an upload in parts', () => {
  const UPLOAD = '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>';
  const begun = ({ method, url }: ReceivedRequest): ScriptedAnswer => {
    if (method === 'HEAD') return url.startsWith('/bucket/p/') ? { status: 404 } : {};
    if (method === 'POST' && url.includes('?uploads')) return { body: UPLOAD };
    if (method === 'PUT') return { headers: { etag: '"part"' } };
    return method === 'DELETE' ? { status: 204 } : failure(403, 'AccessDenied');
  };
  const aborted = (): string[] =>
    server.received.filter(({ method }) => method === 'DELETE').map(({ url }) => url.replace(/&?x-id=\w+&?/, ''));

  test('an object that becomes larger than expected goes on in parts that S3 takes', async () => {
    const received: number[] = [];
    let completed = false;
    server.script((request) => {
      const { method, url, body } = request;
      if (method === 'PUT') received.push(body.length);
      if (method === 'HEAD' && completed) {
        return { headers: { 'content-length': String(received.reduce((sum, part) => sum + part, 0)) } };
      }
      if (method === 'POST' && url.includes('uploadId')) {
        if (received.slice(0, -1).some((bytes) => bytes < PART_BYTES_MIN)) return failure(400, 'EntityTooSmall');
        completed = true;
        return { body: '<CompleteMultipartUploadResult><ETag>"whole"</ETag></CompleteMultipartUploadResult>' };
      }
      return begun(request);
    });
    const writer = await store.create('k', PART_BYTES_MIN, 100_000);
    for (let part = 0; part < 11; part += 1) await writer.write(new Uint8Array(500_000));
    assert.equal(await writer.commit(), 5_500_000);
    assert.deepEqual(received, [PART_BYTES_MIN, 5_500_000 - PART_BYTES_MIN]);
  });

  test('that is given up, or cannot be completed, is aborted: its parts would stay and be paid for', async () => {
    for (const completes of [false, true]) {
      server.script(begun);
      const writer = await store.create('k');
      await writer.write(new Uint8Array(2 * PART_BYTES_MIN + 1));
      if (completes) await assert.rejects(writer.commit(), withCode('ERR_MILLRACE_REFUSED'));
      assert.deepEqual(aborted(), []);
      await writer.abort();
      assert.deepEqual(aborted(), ['/bucket/p/k?uploadId=u1']);
    }
  });
});

describe('a read', () => {
  test('frees the memory of each piece of an answer as soon as it is copied', async (t) => {
    const content = patternBytes(4 * 1_024 * 1_024);
    const range = { 'content-range': `bytes 0-${content.length - 1}/${content.length}` };
    server.script(() => ({ status: 206, headers: range, body: Buffer.from(content) }));
    const pieces = receivedPieces(t);
    assert.deepEqual(await store.read('k', 0, content.length), Buffer.from(content));
    assert.ok(pieces.length > 1);
    assert.ok(pieces.every(({ length }) => length === 0));
  });
});

/** Of answers, until the test ends: as Node's client hands them out, without small ones, which share memory. */
function receivedPieces(t: TestContext): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  const { prototype } = Readable;
  const iterate = Object.getOwnPropertyDescriptor(prototype, Symbol.asyncIterator);
  assert.ok(iterate !== undefined);
  const iterator = iterate.value as (this: Readable) => AsyncIterableIterator<Uint8Array>;
  const watched = async function* (this: Readable): AsyncGenerator<Uint8Array> {
    for await (const piece of iterator.call(this)) {
      if (piece.length > 16_384) pieces.push(piece);
      yield piece;
    }
  };
  Object.defineProperty(prototype, Symbol.asyncIterator, { ...iterate, value: watched });
  t.after(() => Object.defineProperty(prototype, Symbol.asyncIterator, iterate));
  return pieces;
}

describe('a stream', () => {
  test('holds one piece of an answer at a time: memory of the one before is freed', async () => {
    const content = patternBytes(4 * 1_024 * 1_024);
    const range = { 'content-range': `bytes 0-${content.length - 1}/${content.length}` };
    server.script(() => ({ status: 206, headers: range, body: Buffer.from(content) }));
    const pieces: Uint8Array[] = [];
    let at = 0;
    for await (const piece of store.stream('k', 0, content.length)) {
      assert.deepEqual(piece, Buffer.from(content.subarray(at, at + piece.length)));
      at += piece.length;
      // Small ones share memory with others.
      assert.ok(pieces.every(({ length }) => length === 0));
      if (piece.length > 16_384) pieces.push(piece);
    }
    assert.equal(at, content.length);
    assert.ok(pieces.length > 1);
  });
});

describe('deletes', () => {
  const named = ({ body }: ReceivedRequest): string[] =>
    [...body.toString().matchAll(/<Key>p\/(.*?)<\/Key>/g)].map((match) => match[1] ?? '');
  const result = (entries: readonly string[]): ScriptedAnswer => ({
    body: `<DeleteResult>${entries.join('')}</DeleteResult>`,
  });
  const deleted = (key: string): string => `<Deleted><Key>p/${key}</Key></Deleted>`;
  const failed = (key: string, code: string): string => `<Error><Key>p/${key}</Key><Code>${code}</Code></Error>`;

  test('each key is judged by itself: gone, absent, throttled, refused, or not mentioned', async () => {
    server.script((request, index) =>
      index === 0
        ? result([
            deleted('gone'),
            failed('absent', 'NoSuchKey'),
            failed('slow', 'SlowDown'),
            failed('locked', 'AccessDenied'),
          ])
        : result(named(request).map(deleted)),
    );
    const gone = await store.delete(['gone', 'absent', 'slow', 'locked', 'forgotten']);
    assert.deepEqual(gone.sort(), ['absent', 'gone', 'slow']);
    assert.deepEqual(server.received.map(named), [['gone', 'absent', 'slow', 'locked', 'forgotten'], ['slow']]);
  });

  test('an answer cannot confirm what was not asked', async () => {
    server.script(() =>
      result([deleted('a'), deleted('b'), deleted('a'), '<Deleted><Key>elsewhere/a</Key></Deleted>']),
    );
    assert.deepEqual(await store.delete(['a']), ['a']);
  });

  test('requests carry the digest that older servers insist on', async () => {
    server.script((request) => result(named(request).map(deleted)));
    await store.delete(['a']);
    const request = server.received[0];
    assert.equal(request?.headers['content-md5'], md5(request?.body ?? new Uint8Array(0)).toString('base64'));
  });

  test('the pace gives way to a throttled server, and every key is deleted in the end', async () => {
    const keys = Array.from({ length: 1500 }, (_, index) => `k${index}`);
    server.script((request) =>
      named(request).length > 300 ? failure(503, 'SlowDown') : result(named(request).map(deleted)),
    );
    assert.deepEqual((await store.delete(keys)).sort(), [...keys].sort());
    const sizes = server.received.map((request) => named(request).length);
    assert.deepEqual(sizes.slice(0, 3), [1000, 500, 250]);
  });

  test('a refusal after a part was deleted reports that part', async () => {
    const keys = Array.from({ length: 1001 }, (_, index) => `k${index}`);
    server.script((request, index) =>
      index === 0 ? result(named(request).map(deleted)) : failure(403, 'AccessDenied'),
    );
    assert.equal((await store.delete(keys)).length, 1000);
    await assert.rejects(store.delete(keys), withCode('ERR_MILLRACE_REFUSED'));
  });
});

describe('listings', () => {
  const page = (keys: readonly string[], isTruncated: boolean): ScriptedAnswer => ({
    body: `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${keys
      .map((key) => `<Contents><Key>p/${key}</Key><Size>1</Size></Contents>`)
      .join('')}</ListBucketResult>`,
  });

  test('a page that fails is asked for again, and keys repeated at its border are given once', async () => {
    server.script((_, index) => {
      if (index === 0) return page(['a', 'b'], true);
      return index === 1 ? failure(503, 'SlowDown') : page(['b', 'c'], false);
    });
    assert.deepEqual(await keysIn(store), ['a', 'b', 'c']);
    assert.match(server.received[2]?.url ?? '', /start-after=p%2Fb/);
  });

  test('a listing that does not advance ends with an error instead of never', async () => {
    server.script(() => page(['a'], true));
    await assert.rejects(keysIn(store), withCode('ERR_MILLRACE_READ_FAILED'));
    assert.equal(server.received.length, 2);
  });
});

describe('secrets', () => {
  test('what a server echoes of credentials and signatures stays out of errors', async () => {
    const { accessKeyId, secretAccessKey, sessionToken } = CREDENTIALS;
    const echo = `<AWSAccessKeyId>${accessKeyId}</AWSAccessKeyId><StringToSign>to-sign ${sessionToken}</StringToSign>
      <Message>wrong ${secretAccessKey} of ${accessKeyId} with ${sessionToken}</Message>`;
    server.script(() => failure(403, 'SignatureDoesNotMatch', echo));
    await assert.rejects(store.read('k', 0, 1), (error: Error) => {
      const printed = inspect(error, { depth: 20, showHidden: true });
      assert.ok(!printed.includes('sentinel') && !printed.includes('to-sign'), printed);
      assert.match(printed, /SignatureDoesNotMatch/);
      return withCode('ERR_MILLRACE_REFUSED')(error);
    });
  });
});
