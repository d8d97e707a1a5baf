/** Consumers and publishers of a stream over HTTP: how far each has come. */
import { MillraceError } from '../errors/millrace-error.ts';
import { objectOf } from './body.ts';
import { streamOf } from './context.ts';
import type { Exchange } from './exchange.ts';
import { HttpError } from './problem.ts';

export async function listConsumers(exchange: Exchange): Promise<void> {
  const stream = await streamOf(exchange.context.store, exchange.parameter('stream'));
  exchange.json({ consumers: await stream.offsets() });
}

export async function getConsumer(exchange: Exchange): Promise<void> {
  const reference = exchange.parameter('consumer');
  const stream = await streamOf(exchange.context.store, exchange.parameter('stream'));
  const offset = await stream.queryOffset(reference);
  if (offset === undefined) throw noConsumer(stream.name, reference);
  exchange.json({ reference, offset });
}

/** `{"offset": n}`: the last record that the consumer is done with. */
export async function putConsumer(exchange: Exchange): Promise<void> {
  const { offset, ...others } = await objectOf(exchange);
  if (typeof offset !== 'number' || Object.keys(others).length > 0) {
    throw new MillraceError('ERR_MILLRACE_INVALID_ARGUMENT', 'the body of a stored offset is {"offset": n}');
  }
  const durable = exchange.queryFlag('durable');
  const reference = exchange.parameter('consumer');
  const stream = await streamOf(exchange.context.store, exchange.parameter('stream'));
  await exchange.patiently(stream.storeOffset(reference, offset, { durable }));
  exchange.json({ reference, offset });
}

export async function deleteConsumer(exchange: Exchange): Promise<void> {
  const durable = exchange.queryFlag('durable');
  const reference = exchange.parameter('consumer');
  const stream = await streamOf(exchange.context.store, exchange.parameter('stream'));
  const known = await exchange.patiently(stream.deleteOffset(reference, { durable }));
  if (!known) throw noConsumer(stream.name, reference);
  exchange.noContent();
}

/** Where a publisher goes on after it was stopped. `null`: it has published nothing. */
export async function getPublisher(exchange: Exchange): Promise<void> {
  const reference = exchange.parameter('publisher');
  const stream = await streamOf(exchange.context.store, exchange.parameter('stream'));
  const lastPublishingId = (await stream.publisher(reference).lastPublishingId()) ?? null;
  exchange.json({ reference, lastPublishingId });
}

function noConsumer(stream: string, reference: string): HttpError {
  return new HttpError(404, 'ERR_MILLRACE_INVALID_REFERENCE', `${stream} has no consumer ${JSON.stringify(reference)}`);
}
