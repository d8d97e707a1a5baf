/**
 * Reads a range of an object. A body is believed only when its range, its length and, for a whole object, its digest
 * are what was asked for; the chunks inside carry checksums of their own.
 */
import { createHash } from 'node:crypto';
import { GetObjectCommand, type GetObjectCommandOutput, type S3Client } from '@aws-sdk/client-s3';
import { releaseMemory } from '../../base/release-memory.ts';
import { MillraceError } from '../../errors/millrace-error.ts';
import { objectEndsEarly, objectNotFound } from '../object-errors.ts';
import { retry } from '../retry.ts';
import { DIGEST_FIELD, headObject } from './metadata.ts';
import type { S3Requests } from './requests.ts';
import { statusOf } from './s3-errors.ts';

/** The range a caller asked for. */
interface Range {
  readonly key: string;
  readonly position: number;
  readonly length: number;
  /** Memory to use instead of fresh. */
  readonly into?: Uint8Array | undefined;
}

/** A body as Node's HTTP client gives it. */
interface BodyStream extends AsyncIterable<Uint8Array> {
  destroy(): void;
}

const HTTP_WHOLE = 200;
const HTTP_RANGE_NOT_SATISFIABLE = 416;

export async function readRange(requests: S3Requests, range: Range, signal?: AbortSignal): Promise<Uint8Array> {
  const { key, length } = range;
  if (length === 0) {
    await checkEnd(requests, range);
    return new Uint8Array(0);
  }
  return requests.send({
    operation: 'GetObject',
    key,
    signal,
    send: async (client, abortSignal, attempt) => {
      const command = commandFor(requests, range);
      try {
        const response = await client.send(command, { abortSignal });
        const bytes = await receive(response, range, attempt, abortSignal);
        requests.counters.moved('GetObject', bytes.length);
        return bytes;
      } catch (error) {
        if (statusOf(error) === HTTP_RANGE_NOT_SATISFIABLE) await checkEnd(requests, range);
        throw error;
      }
    },
  });
}

/**
 * Yields a range as it arrives, from one request: what is not asked for yet waits in the connection. A request that is
 * cut is sent again for what is missing; each piece that arrives starts the count of attempts anew.
 */
export async function* streamRange(
  requests: S3Requests,
  { key, position, length }: Range,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array, void, void> {
  const end = position + length;
  let at = position;
  let body: OpenBody | undefined;
  const next = async (attempt: number): Promise<Uint8Array> => {
    const rest = { key, position: at, length: end - at };
    body ??= await openBody(requests, rest, attempt, signal);
    try {
      const piece = await body.next(requests.requestTimeout);
      if (piece === undefined) throw badBody(rest, 'the body ended early');
      if (piece.length > rest.length) throw badBody(rest, 'the body is longer than announced');
      return piece;
    } catch (error) {
      body.destroy();
      body = undefined;
      throw requests.failed('GetObject', key, error);
    }
  };
  try {
    while (at < end) {
      const piece = await retry(next, requests.policy, requests.environment, signal);
      requests.counters.moved('GetObject', piece.length);
      at += piece.length;
      yield piece;
      releaseMemory(piece);
    }
    // The connection is free for the next request once its end was seen.
    await body?.next(requests.requestTimeout).catch(() => undefined);
  } finally {
    body?.destroy();
  }
}

/** The body of an answer, which is read as slowly as its reader wants, and not slower than the network should be. */
class OpenBody {
  readonly #body: BodyStream;
  readonly #pieces: AsyncIterator<Uint8Array>;

  constructor(body: BodyStream) {
    this.#body = body;
    this.#pieces = body[Symbol.asyncIterator]();
  }

  async next(timeout: number): Promise<Uint8Array | undefined> {
    const timer = setTimeout(() => this.destroy(), timeout);
    try {
      const step = await this.#pieces.next();
      return step.done === true ? undefined : step.value;
    } finally {
      clearTimeout(timer);
    }
  }

  destroy(): void {
    this.#body.destroy();
  }
}

function commandFor(requests: S3Requests, { key, position, length }: Range): GetObjectCommand {
  return new GetObjectCommand({
    Bucket: requests.bucket,
    Key: requests.remoteKey(key),
    Range: `bytes=${position}-${position + length - 1}`,
  });
}

async function openBody(
  requests: S3Requests,
  range: Range,
  attempt: number,
  signal: AbortSignal | undefined,
): Promise<OpenBody> {
  const { key } = range;
  const send = async (client: S3Client, abortSignal: AbortSignal): Promise<OpenBody> => {
    const command = commandFor(requests, range);
    try {
      const response = await client.send(command, { abortSignal });
      const body = response.Body as unknown as BodyStream | undefined;
      if (body === undefined) throw badBody(range, 'the answer has no body');
      try {
        checkHeaders(response, range);
      } catch (error) {
        body.destroy();
        throw error;
      }
      return new OpenBody(body);
    } catch (error) {
      if (statusOf(error) === HTTP_RANGE_NOT_SATISFIABLE) await checkEnd(requests, range);
      throw error;
    }
  };
  return requests.once({ operation: 'GetObject', key, signal, send }, attempt);
}

/** Rejects unless the object reaches to the end of the range. */
async function checkEnd(requests: S3Requests, { key, position, length }: Range): Promise<void> {
  const head = await headObject(requests, key);
  if (head === undefined) throw objectNotFound(key, requests.place);
  if (position + length > head.bytes) throw objectEndsEarly(key, position, length, head.bytes);
}

async function receive(
  response: GetObjectCommandOutput,
  range: Range,
  attempt: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const body = response.Body as unknown as BodyStream | undefined;
  if (body === undefined) throw badBody(range, 'the answer has no body');
  const stop = (): void => body.destroy();
  // The SDK lets go of the signal once the headers are there.
  signal.addEventListener('abort', stop, { once: true });
  try {
    const total = checkHeaders(response, range);
    const bytes = await collect(body, range);
    const digest = response.Metadata?.[DIGEST_FIELD];
    if (digest !== undefined && total === range.length) checkDigest(bytes, digest, range, attempt);
    return bytes;
  } catch (error) {
    // A body that is not read to its end would keep its connection.
    stop();
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Returns the size of the whole object, after a check that the answer is the range that was asked for. */
function checkHeaders(response: GetObjectCommandOutput, range: Range): number {
  const { key, position, length } = range;
  const { first, last, total } = describedRange(response, range);
  if (position + length > total) throw objectEndsEarly(key, position, length, total);
  if (first !== position || last !== position + length - 1) {
    throw badBody(range, `the answer is the range [${first}, ${last + 1})`);
  }
  if (response.ContentLength !== undefined && response.ContentLength !== length) {
    throw badBody(range, `the answer announces ${response.ContentLength} bytes`);
  }
  return total;
}

/** The range that the answer says it is. A server that ignores ranges sends the whole object. */
function describedRange(
  response: GetObjectCommandOutput,
  range: Range,
): { first: number; last: number; total: number } {
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(response.ContentRange ?? '');
  if (match !== null) return { first: Number(match[1]), last: Number(match[2]), total: Number(match[3]) };
  const total = response.ContentLength;
  if (response.$metadata.httpStatusCode !== HTTP_WHOLE || total === undefined) {
    throw badBody(range, 'the answer does not say which range it is');
  }
  return { first: 0, last: total - 1, total };
}

/** Memory is allocated once the server has said that it has this much. */
async function collect(body: BodyStream, range: Range): Promise<Uint8Array> {
  const target = range.into?.length === range.length ? range.into : Buffer.allocUnsafeSlow(range.length);
  let filled = 0;
  for await (const piece of body) {
    if (filled + piece.length > range.length) throw badBody(range, 'the body is longer than announced');
    target.set(piece, filled);
    filled += piece.length;
    releaseMemory(piece);
  }
  if (filled !== range.length) throw badBody(range, `the body ended after ${filled} bytes`);
  return target;
}

/** Once, it may have been the wire; twice, it is the object. */
function checkDigest(bytes: Uint8Array, digest: string, range: Range, attempt: number): void {
  if (createHash('md5').update(bytes).digest('hex') === digest) return;
  if (attempt === 0) throw badBody(range, 'its bytes do not match the digest they were stored with');
  throw new MillraceError(
    'ERR_MILLRACE_SEGMENT_CORRUPT',
    `object ${range.key} does not match the digest it was stored with`,
    { details: { key: range.key } },
  );
}

function badBody({ key, position, length }: Range, what: string): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_READ_FAILED',
    `object ${key} cannot be read at [${position}, ${position + length}): ${what}`,
    { details: { key, position, length } },
  );
}
