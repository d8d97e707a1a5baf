/**
 * Requests that the production code sends to S3: how the writer cuts an object into parts, how a rewrite reads its
 * inputs, and how a reader gets at a run. Pure, from sizes alone.
 */
import { AHEAD_READ_BYTES, planJob, readRequests, spanOf } from '../../src/compaction/job-memory.ts';
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
export function writeRequests(bytes: number, memory?: number, expected?: number): RequestCounts {
  const { partBytes, singleBytes } = planParts({}, memory, expected);
  if (bytes <= singleBytes) return { puts: 1, gets: 0, deletes: 0 };
  return { puts: Math.ceil(bytes / partBytes) + 2, gets: 2, deletes: 0 };
}

/** What a rewrite reads, and how it writes. */
export interface RewriteRequests {
  readonly reads: RequestCounts;
  /** Of runs, each as often as there are waves that pass it. */
  readonly readBytes: number;
  /** By output, what its writer may hold, and what it is told of the size. */
  readonly writers: readonly (readonly [number | undefined, number])[];
}

/**
 * A rewrite asks for the tail of each input, and in each wave for the inputs as the plan says; runs with keys are read
 * in one pass before.
 */
export function rewriteRequests(
  layout: Layout,
  inputs: readonly { readonly key: string; readonly bytes: number }[],
  memoryBytes: number,
): RewriteRequests {
  let gets = inputs.length;
  let readBytes = 0;
  const writers: [number | undefined, number][] = [];
  for (const wave of planJob(layout, inputs, memoryBytes, { writerMemory: writerMemoryOf({}), stream: true })) {
    gets += readRequests(wave);
    readBytes += wave.inputs.reduce((sum, { live }) => sum + spanOf(live), 0);
    for (const [place, output] of wave.outputs.entries()) {
      writers[output] = [wave.writerBytes[place], wave.outputBytes[place] ?? 0];
    }
  }
  for (const { keys, parents } of layout.outputs.flatMap(({ runs }) => runs)) {
    if (keys === 'all') continue;
    for (const { byteLength } of parents) {
      gets += Math.ceil(byteLength / AHEAD_READ_BYTES);
      readBytes += byteLength;
    }
  }
  return { reads: { puts: 0, gets, deletes: 0 }, readBytes, writers };
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
