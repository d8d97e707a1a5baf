/** What all requests of a server share. */
import type { LineMemory } from '../codec/line-memory.ts';
import type { Store } from '../store/store.ts';
import type { Stream } from '../stream/stream.ts';
import type { BodyMemory } from './body-memory.ts';
import type { RequestMetrics } from './request-metrics.ts';
import { HttpError } from './problem.ts';
import type { ServerSettings } from './options.ts';
import type { Layout } from './layout.ts';
import type { Sampler } from './sampler.ts';

export interface ServerContext {
  readonly store: Store;
  readonly settings: ServerSettings;
  readonly metrics: RequestMetrics;
  readonly sampler: Sampler;
  readonly layout: Layout;
  readonly bodyMemory: BodyMemory;
  /** Where all of them cut lines, by turns: nobody keeps anything there while it waits. */
  readonly lineMemory: LineMemory;
  /** Aborted when the server is about to close. */
  readonly stopping: AbortSignal;
}

/** The stream of that name. Throws `ERR_MILLRACE_STREAM_NOT_FOUND` instead of making one. */
export async function streamOf(store: Store, name: string): Promise<Stream> {
  const stream = await store.findStream(name);
  if (stream !== undefined) return stream;
  throw new HttpError(
    404,
    'ERR_MILLRACE_STREAM_NOT_FOUND',
    `there is no stream ${JSON.stringify(name)}: PUT /v1/streams/{stream} makes one`,
  );
}
