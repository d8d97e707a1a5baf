/** `POST /v1/streams/{stream}/records`: many records as lines, or one as it is. Answered when all of it is durable. */
import { MillraceError, isMillraceError } from '../errors/millrace-error.ts';
import { MIB } from '../limits/limits.ts';
import { BoundedAppender } from '../lines/bounded-appender.ts';
import { LineAppender } from '../lines/line-appender.ts';
import { lineReader } from '../lines/line-reader.ts';
import type { AppendOptions } from '../record/record-input.ts';
import type { Stream } from '../stream/stream.ts';
import { AppendTally, type PublisherPosition } from './append-tally.ts';
import { bytesOf, chunksOf, mediaTypeOf } from './body.ts';
import { streamOf } from './context.ts';
import type { Exchange } from './exchange.ts';
import { badRequest, PROBLEM_MEDIA_TYPE, problemOf } from './problem.ts';
import { decoded } from './router.ts';

const LINES: ReadonlySet<string> = new Set(['application/x-ndjson', 'application/jsonl', 'application/ndjson']);
const SINGLE: ReadonlySet<string> = new Set(['application/octet-stream', 'text/plain', 'application/json']);
/** What one request has on the way into the ring: many may do the same. */
const IN_FLIGHT_BYTES_MAX: number = 4 * MIB;
const WHOLE = /^\d{1,16}$/;

const PUBLISHER_HEADER = 'millrace-publisher';
const PUBLISHING_ID_HEADER = 'millrace-publishing-id';

export async function append(exchange: Exchange): Promise<void> {
  const mediaType = mediaTypeOf(exchange);
  if (LINES.has(mediaType)) return appendLines(exchange);
  if (SINGLE.has(mediaType)) return appendOne(exchange);
  const known = 'application/x-ndjson for many records, application/octet-stream for one';
  throw badRequest(415, `content type ${mediaType || '(none)'} is not taken here: send ${known}`);
}

async function targetOf(exchange: Exchange): Promise<Stream> {
  const { store } = exchange.context;
  const name = exchange.parameter('stream');
  return exchange.queryFlag('create') ? store.stream(name) : streamOf(store, name);
}

async function appendOne(exchange: Exchange): Promise<void> {
  const options = optionsOf(exchange);
  const stream = await targetOf(exchange);
  const position = publisherOf(exchange, stream);
  // The store says what it takes; lines that carry a record take more bytes than it has.
  const value = await bytesOf(exchange, exchange.context.settings.maxLineBytes);
  const answer =
    position === undefined
      ? { offset: await exchange.patiently(stream.append(value, options)), duplicate: false }
      : await exchange.patiently(position.publisher.append(position.firstPublishingId, value, options));
  exchange.json(answer);
}

function optionsOf(exchange: Exchange): AppendOptions {
  const key = exchange.query('key');
  const timestamp = exchange.query('timestamp');
  return {
    ...(key === undefined ? {} : { key }),
    ...(timestamp === undefined ? {} : { timestamp: exchange.queryNumber('timestamp', 0, 0, Number.MAX_SAFE_INTEGER) }),
  };
}

async function appendLines(exchange: Exchange): Promise<void> {
  for (const name of ['key', 'timestamp']) {
    if (exchange.query(name) !== undefined) throw badRequest(400, `query parameter ${name} is for a single record`);
  }
  const keyField = exchange.query('keyField');
  const format = exchange.queryChoice('format', 'records', ['records', 'lines']);
  if (keyField !== undefined && format !== 'lines')
    throw badRequest(400, 'query parameter keyField needs format=lines');
  const stream = await targetOf(exchange);
  const position = publisherOf(exchange, stream);
  const tally = new AppendTally(stream, position);
  // Were later ids taken while earlier ones are refused, sending those again would find them below the last one.
  const inFlightBytes = position === undefined ? IN_FLIGHT_BYTES_MAX : 0;
  const appender = new BoundedAppender(tally, inFlightBytes);
  const { lineMemory, settings } = exchange.context;
  const { maxLineBytes } = settings;
  const reader = lineReader(format, keyField);
  try {
    await appendChunks(exchange, new LineAppender(lineMemory, appender, { maxLineBytes, reader }));
    await exchange.patiently(appender.finish());
  } catch (error) {
    // What is on its way may become durable, and is counted then.
    await exchange.patiently(appender.settled());
    if (!isMillraceError(error)) throw error;
    const { problem, headers } = problemOf(error);
    for (const [name, value] of Object.entries(headers)) exchange.response.setHeader(name, value);
    exchange.json({ ...problem, kept: tally.summary() }, problem.status, PROBLEM_MEDIA_TYPE);
    return;
  }
  exchange.json(tally.summary());
}

/** Appends chunk by chunk; the lines in front of one that is refused are appended. */
async function appendChunks(exchange: Exchange, lines: LineAppender): Promise<void> {
  const { settings, bodyMemory } = exchange.context;
  const room = bodyMemory.claim();
  try {
    for await (const chunk of chunksOf(exchange, settings.maxBodyBytes)) {
      await exchange.patiently(lines.push(chunk));
      await exchange.patiently(room.hold(lines.pendingBytes, exchange.gone));
    }
    await exchange.patiently(lines.end());
  } finally {
    room.release();
  }
}

/** Both headers, or none. */
function publisherOf({ request }: Exchange, stream: Stream): PublisherPosition | undefined {
  const reference = request.headers[PUBLISHER_HEADER];
  const id = request.headers[PUBLISHING_ID_HEADER];
  if (reference === undefined && id === undefined) return undefined;
  if (typeof reference !== 'string' || typeof id !== 'string' || !WHOLE.test(id)) {
    throw new MillraceError(
      'ERR_MILLRACE_INVALID_ARGUMENT',
      'a publisher sends both Millrace-Publisher, its name, and Millrace-Publishing-Id, a whole number from 0 on',
    );
  }
  return { publisher: stream.publisher(decoded(reference)), firstPublishingId: Number(id) };
}
