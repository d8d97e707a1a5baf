/** Streams over HTTP: list, tell, make, configure, delete, trim. */
import { MillraceError } from '../errors/millrace-error.ts';
import { STREAM_NAME_BYTES_MAX } from '../limits/limits.ts';
import type { StreamDescription } from '../record/stream-config.ts';
import type { Stream } from '../stream/stream.ts';
import { objectOf } from './body.ts';
import { streamOf } from './context.ts';
import type { Exchange } from './exchange.ts';
import { HttpError } from './problem.ts';

const LIST_DEFAULT = 100;
const LIST_MAX = 1_000;
/** Counts cost a look at each stream. */
const DETAILS_MAX = 100;

/** `after`: names behind this one. `details`: with counts, and what consumers have left to read. */
export async function listStreams(exchange: Exchange): Promise<void> {
  const { store } = exchange.context;
  const details = exchange.queryFlag('details');
  const limit = exchange.queryNumber('limit', LIST_DEFAULT, 1, details ? DETAILS_MAX : LIST_MAX);
  const after = exchange.query('after') ?? '';
  const contains = exchange.query('contains') ?? '';
  const all = await store.streams();
  const rest = all.filter(({ name }) => name > after && name.includes(contains));
  const page = rest.slice(0, limit);
  const streams = details
    ? await Promise.all(page.map(({ name }) => detailsOf(exchange, name)))
    : page.map(({ name, config }: StreamDescription) => ({ name, config }));
  exchange.json({
    // One that was deleted meanwhile is not there any more.
    streams: streams.filter((stream) => stream !== undefined),
    total: all.length,
    ...(rest.length > limit ? { next: page.at(-1)?.name } : {}),
  });
}

async function detailsOf(exchange: Exchange, name: string): Promise<object | undefined> {
  const stream = await exchange.context.store.findStream(name);
  return stream && { ...(await stream.info()), consumers: await stream.offsets() };
}

export async function getStream(exchange: Exchange): Promise<void> {
  const stream = await streamOf(exchange.context.store, exchange.parameter('stream'));
  exchange.json({ ...(await stream.info()), consumers: await stream.offsets() });
}

/** Makes a stream, or changes the options that are given of one there is. */
export async function putStream(exchange: Exchange): Promise<void> {
  const { store } = exchange.context;
  const name = exchange.parameter('stream');
  const options = await objectOf(exchange);
  const known = await store.findStream(name);
  const stream = await store.stream(name, options);
  answerConfig(exchange, stream, known === undefined ? 201 : 200);
}

export async function patchStream(exchange: Exchange): Promise<void> {
  const options = await objectOf(exchange);
  const stream = await streamOf(exchange.context.store, exchange.parameter('stream'));
  await stream.configure(options);
  answerConfig(exchange, stream, 200);
}

function answerConfig(exchange: Exchange, { name, config }: Stream, status: number): void {
  exchange.json({ name, config }, status);
}

export async function deleteStream(exchange: Exchange): Promise<void> {
  const name = exchange.parameter('stream');
  if (!(await exchange.context.store.deleteStream(name))) {
    const shown = JSON.stringify(name.slice(0, STREAM_NAME_BYTES_MAX));
    throw new HttpError(404, 'ERR_MILLRACE_STREAM_NOT_FOUND', `there is no stream ${shown}`);
  }
  exchange.noContent();
}

/** `{"before": offset}`: removes the records below. */
export async function trimStream(exchange: Exchange): Promise<void> {
  const { before, ...others } = await objectOf(exchange);
  if (typeof before !== 'number' || Object.keys(others).length > 0) {
    throw new MillraceError('ERR_MILLRACE_INVALID_ARGUMENT', 'the body of a trim is {"before": offset}');
  }
  const stream = await streamOf(exchange.context.store, exchange.parameter('stream'));
  await stream.trim(before);
  const { firstOffset, nextOffset } = await stream.info();
  exchange.json({ firstOffset, nextOffset });
}
