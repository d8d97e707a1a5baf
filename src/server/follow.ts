/** `GET /v1/streams/{stream}/follow`: records as server-sent events, each with its offset as the event's id. */
import { isMillraceError } from '../errors/millrace-error.ts';
import { jsonRecordOf } from '../lines/record-lines.ts';
import type { RecordBatch } from '../record/record-batch.ts';
import type { ReadOptions } from '../stream/read-options.ts';
import type { Stream } from '../stream/stream.ts';
import { streamOf } from './context.ts';
import type { Exchange } from './exchange.ts';
import { badRequest, HttpError, problemOf } from './problem.ts';
import { partsOf, readOptionsOf } from './read.ts';

/** What a client waits before it connects again. */
const RETRY_MS = 2_000;
const HEARTBEAT = ': heartbeat\n\n';
/** How long a refusal, such as of an offset out of range, may take to get a status of its own. */
const START_WAIT = 20;
const WHOLE = /^\d{1,16}$/;

export async function follow(exchange: Exchange): Promise<void> {
  const { metrics, settings, store } = exchange.context;
  if (metrics.followers >= settings.maxFollowers) {
    throw new HttpError(
      429,
      'ERR_MILLRACE_TOO_MANY_REQUESTS',
      `${metrics.followers} requests follow streams already, and the server takes no more at once`,
    );
  }
  metrics.followers += 1;
  try {
    const stream = await streamOf(store, exchange.parameter('stream'));
    const limit = exchange.queryNumber('limit', Number.MAX_SAFE_INTEGER, 0, Number.MAX_SAFE_INTEGER);
    const options = resumed(exchange, readOptionsOf(exchange, 'next'));
    await send(exchange, stream, { ...options, limit, follow: true, signal: exchange.leaving });
  } finally {
    metrics.followers -= 1;
  }
}

/** Behind the last event that the client has seen, wherever it began. */
function resumed(exchange: Exchange, options: ReadOptions): ReadOptions {
  const id = exchange.request.headers['last-event-id'];
  if (id === undefined || id === '') return options;
  if (typeof id === 'string' && WHOLE.test(id)) return { ...options, from: Number(id) + 1 };
  throw badRequest(400, 'Last-Event-ID is the offset of a record');
}

async function send(exchange: Exchange, stream: Stream, options: ReadOptions): Promise<void> {
  let skipped = '';
  const batches = stream.readBatches({
    ...options,
    skipped: (from, to) => {
      skipped += event('skipped', { from, to });
    },
  });
  const first = batches.next();
  await begun(first);
  if (!exchange.begin('text/event-stream', { 'x-accel-buffering': 'no' })) {
    await batches.return(undefined);
    return;
  }
  const heartbeat = setInterval(() => {
    if (!exchange.response.writableNeedDrain) exchange.response.write(HEARTBEAT);
  }, exchange.context.settings.heartbeatInterval);
  try {
    await exchange.write(`retry: ${RETRY_MS}\n\n`);
    for (let next = await first; next.done !== true; next = await batches.next()) {
      const before = skipped;
      skipped = '';
      await exchange.write(before);
      for (const part of partsOf(next.value)) await exchange.write(eventsOf(part));
    }
    await exchange.write(event('end', {}));
  } catch (error) {
    // A server that stops ends the answer, and the client connects again.
    if (!isMillraceError(error)) throw error;
    if (error.code !== 'ERR_MILLRACE_ABORTED') await exchange.write(event('problem', problemOf(error).problem));
  } finally {
    clearInterval(heartbeat);
    await batches.return(undefined);
  }
  exchange.response.end();
}

/** What cannot be begun is refused with a status; what waits for its first record has begun. */
async function begun(first: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const waited = new Promise((resolve) => {
    timer = setTimeout(resolve, START_WAIT);
  });
  // The client may leave before anybody waits for it.
  first.catch(() => undefined);
  try {
    await Promise.race([first, waited]);
  } finally {
    clearTimeout(timer);
  }
}

function eventsOf(batch: RecordBatch): string {
  let events = '';
  for (let index = 0; index < batch.length; index += 1) {
    events += `id: ${batch.offset(index)}\ndata: ${jsonRecordOf(batch, index)}\n\n`;
  }
  return events;
}

function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
