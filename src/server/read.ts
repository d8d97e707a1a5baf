/** Reads of a stream's records: a range as lines, and one as it is. */
import { isUtf8 } from 'node:buffer';
import { KIB } from '../limits/limits.ts';
import { jsonLinesOf } from '../lines/record-lines.ts';
import type { RecordBatch } from '../record/record-batch.ts';
import type { ReadFrom, ReadOptions } from '../stream/read-options.ts';
import { streamOf } from './context.ts';
import type { Exchange } from './exchange.ts';
import { previewLinesOf } from './preview-lines.ts';
import { badRequest, HttpError } from './problem.ts';

const LINES_MEDIA_TYPE = 'application/x-ndjson';
/** Records of an answer unless the request says otherwise. */
const LIMIT_DEFAULT = 1_000;
/** The most that is shown of a key or value whose beginning alone was asked for. */
const PREVIEW_BYTES_MAX: number = 64 * KIB;
/** Records that are turned into text at once. */
const RECORDS_AT_ONCE = 1_024;

/** Clients refuse headers that are much longer: such a key is told of by its length. */
const HEADER_KEY_BYTES_MAX = 2_048;

const PLACES: ReadonlySet<string> = new Set(['first', 'last', 'next']);
const WHOLE = /^\d{1,16}$/;

/** `GET /v1/streams/{stream}/records`. The first batch is read before the answer begins: so errors have a status. */
export async function readRange(exchange: Exchange): Promise<void> {
  const stream = await streamOf(exchange.context.store, exchange.parameter('stream'));
  const limit = exchange.queryNumber('limit', LIMIT_DEFAULT, 0, Number.MAX_SAFE_INTEGER);
  // Lines are text of their own: nothing of a batch outlives it.
  const options = { ...readOptionsOf(exchange, 'first'), limit, signal: exchange.gone, reuse: true };
  const batches = stream.readBatches(options);
  const preview = exchange.queryNumber('preview', 0, 0, PREVIEW_BYTES_MAX);
  const linesOf = preview === 0 ? jsonLinesOf : (batch: RecordBatch) => previewLinesOf(batch, preview);
  let next = await batches.next();
  try {
    if (!exchange.begin(LINES_MEDIA_TYPE)) return;
    while (next.done !== true) {
      for (const part of partsOf(next.value)) await exchange.write(linesOf(part));
      next = await batches.next();
    }
  } finally {
    await batches.return(undefined);
  }
  exchange.response.end();
}

/** Batches that are not too large to be turned into text at once. */
export function* partsOf(batch: RecordBatch): Generator<RecordBatch> {
  for (let rest = batch; rest.length > 0; rest = rest.rest(RECORDS_AT_ONCE)) yield rest.first(RECORDS_AT_ONCE);
}

/** What the query says of where to begin: `from`, or `consumer` for behind the offset that it has stored. */
export function readOptionsOf(exchange: Exchange, fallback: ReadFrom): ReadOptions {
  const from = exchange.query('from');
  const consumer = exchange.query('consumer');
  if (from !== undefined && consumer !== undefined) throw badRequest(400, 'give from or consumer, not both');
  const onTrimmed = exchange.queryChoice('onTrimmed', 'error', ['error', 'skip']);
  if (consumer !== undefined) return { from: { reference: consumer }, onTrimmed };
  return { from: from === undefined ? fallback : placeOf(from), onTrimmed };
}

/** `first`, `last`, `next`, an offset, or `@` and milliseconds since the epoch or a date. */
function placeOf(text: string): ReadFrom {
  if (PLACES.has(text)) return text as ReadFrom;
  if (WHOLE.test(text)) return Number(text);
  const time = text.startsWith('@') ? text.slice(1) : '';
  const timestamp = WHOLE.test(time) ? Number(time) : Date.parse(time);
  if (!Number.isNaN(timestamp)) return { timestamp };
  throw badRequest(400, `from is first, last, next, an offset, or @ and a time, not ${JSON.stringify(text)}`);
}

/** `GET /v1/streams/{stream}/records/{offset}`: the bytes of the value, and the rest in headers. */
export async function readOne(exchange: Exchange): Promise<void> {
  const stream = await streamOf(exchange.context.store, exchange.parameter('stream'));
  const text = exchange.parameter('offset');
  if (!WHOLE.test(text)) throw badRequest(400, `${JSON.stringify(text)} is no offset`);
  const record = await stream.get(Number(text));
  if (record === undefined) {
    throw new HttpError(404, 'ERR_MILLRACE_OFFSET_OUT_OF_RANGE', `${stream.name} has no record at ${text}`);
  }
  const headers = {
    'millrace-offset': String(record.offset),
    'millrace-timestamp': String(record.timestamp),
    ...(record.key === null ? {} : keyHeader(record.key)),
    ...(record.value === null ? { 'millrace-tombstone': 'true' } : {}),
    // Whatever a record holds, no browser shows it as a page.
    'content-disposition': 'attachment',
  };
  exchange.send(200, 'application/octet-stream', record.value ?? Buffer.alloc(0), headers);
}

/** Headers hold no bytes of all kinds: text is percent-encoded, anything else is in base64. */
function keyHeader(key: Buffer): Record<string, string> {
  if (key.length > HEADER_KEY_BYTES_MAX) return { 'millrace-key-bytes': String(key.length) };
  if (isUtf8(key)) return { 'millrace-key': encodeURIComponent(key.toString()) };
  return { 'millrace-key-base64': key.toString('base64') };
}
