/**
 * Requests that the production code sends to S3: how the writer cuts an object into parts, how a rewrite reads its
 * inputs, and how a reader gets at a run. Pure, from sizes alone.
 */
import { planInputs, RUN_READ_BYTES } from '../../src/compaction/input-windows.ts';
import type { Layout } from '../../src/compaction/layout.ts';
import { MIB } from '../../src/limits/limits.ts';
import { planParts, writerMemoryOf } from '../../src/object/s3/options.ts';
import type { RequestCounts } from './prices.ts';

/** What a reader fetches at once from an object, as the cache's default. */
const FETCH_BYTES: number = 8 * MIB;
/** Objects that one request deletes. */
const DELETE_AT_ONCE = 1_000;

/**
 * Up to two parts a single request; beyond, the key is asked for, and begin, parts, end and a check follow. `memory`:
 * what the writer may hold.
 */
export function writeRequests(bytes: number, memory?: number): RequestCounts {
  const { partBytes, singleBytes } = planParts({}, memory);
  if (bytes <= singleBytes) return { puts: 1, gets: 0, deletes: 0 };
  return { puts: Math.ceil(bytes / partBytes) + 2, gets: 2, deletes: 0 };
}

/**
 * A rewrite asks for the tail of each input, for its windows, and for each run that is larger than those by itself.
 * `writerBytes` is what the writers of its outputs may hold.
 */
export function rewriteReadRequests(
  layout: Layout,
  inputs: readonly { readonly key: string; readonly bytes: number }[],
  memoryBytes: number,
): { readonly requests: RequestCounts; readonly writerBytes: number | undefined } {
  let gets = 0;
  const planned = planInputs(layout, inputs, memoryBytes, writerMemoryOf({}));
  for (const { live, plan } of planned.inputs) {
    gets += plan.windows.length + (plan.whole ? 0 : 1);
    for (const { length } of live) if (length > plan.windowBytes) gets += Math.ceil(length / RUN_READ_BYTES);
  }
  return { requests: { puts: 0, gets, deletes: 0 }, writerBytes: planned.writerBytes };
}

export function deleteRequests(objects: number): RequestCounts {
  return { puts: 0, gets: 0, deletes: Math.ceil(objects / DELETE_AT_ONCE) };
}

/** A scan of one stream reads its runs one by one, each in parts; runs behind each other in one object count as one. */
export function scanRequests(runs: readonly { readonly objectKey: string; readonly byteLength: number }[]): number {
  let gets = 0;
  let key = '';
  let bytes = 0;
  const close = (): void => {
    gets += Math.ceil(bytes / FETCH_BYTES);
    bytes = 0;
  };
  for (const { objectKey, byteLength } of runs) {
    if (objectKey !== key) close();
    key = objectKey;
    bytes += byteLength;
  }
  close();
  return gets;
}
