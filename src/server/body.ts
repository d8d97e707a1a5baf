/** The bytes that a request brings. */
import { isUtf8 } from 'node:buffer';
import { MillraceError } from '../errors/millrace-error.ts';
import { KIB } from '../limits/limits.ts';
import { ByteCollector } from '../lines/byte-collector.ts';
import { ClientGone, type Exchange } from './exchange.ts';
import { badRequest, type HttpError } from './problem.ts';

/** Settings are small. */
const JSON_BYTES_MAX: number = 64 * KIB;

/** What the body is said to be, without parameters. */
export function mediaTypeOf({ request }: Exchange): string {
  return (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** The chunks of the body. Throws 413 beyond `maxBytes`, and `ClientGone` when the client leaves midway. */
export async function* chunksOf({ request }: Exchange, maxBytes: number): AsyncGenerator<Buffer> {
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    throw badRequest(415, `content encoding ${encoding} is not taken: send the body as it is`);
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > maxBytes) throw tooLarge(announced, maxBytes);
  let bytes = 0;
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  for (;;) {
    const { value, done } = await next(chunks);
    if (done === true) return;
    bytes += value.length;
    if (bytes > maxBytes) throw tooLarge(bytes, maxBytes);
    yield value;
  }
}

async function next(chunks: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer, unknown>> {
  try {
    return await chunks.next();
  } catch {
    throw new ClientGone();
  }
}

export async function bytesOf(exchange: Exchange, maxBytes: number): Promise<Buffer> {
  const bytes = new ByteCollector();
  const room = exchange.context.bodyMemory.claim();
  try {
    for await (const chunk of chunksOf(exchange, maxBytes)) {
      bytes.push(chunk);
      await exchange.patiently(room.hold(bytes.length, exchange.gone));
    }
    return bytes.take();
  } finally {
    room.release();
  }
}

/** The body as a JSON object. An empty body is `{}`. */
export async function objectOf(exchange: Exchange): Promise<Record<string, unknown>> {
  const bytes = await bytesOf(exchange, JSON_BYTES_MAX);
  if (bytes.length === 0) return {};
  // A page of another origin can send other types without being asked whether it may.
  if (mediaTypeOf(exchange) !== 'application/json') throw badRequest(415, 'send the body as application/json');
  const value = isUtf8(bytes) ? parsed(bytes.toString()) : undefined;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new MillraceError('ERR_MILLRACE_INVALID_ARGUMENT', 'the body is no JSON object in UTF-8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function tooLarge(bytes: number, maxBytes: number): HttpError {
  return badRequest(413, `a body of ${bytes} bytes: at most ${maxBytes} are taken in one request`);
}
