/**
 * Requests that the production code sends to S3: how the writer cuts an object into parts, how a rewrite reads its
 * inputs, and how a reader gets at a run. Pure, from sizes alone.
 */
import { joinRanges, type ByteRange, RUN_READ_BYTES, windowBytesFor } from '../../src/compaction/input-source.ts';
import { MIB } from '../../src/limits/limits.ts';
import type { RequestCounts } from './prices.ts';

/** As the S3 writer's default. */
export const PART_BYTES: number = 8 * MIB;
/** What a reader fetches at once from an object, as the cache's default. */
export const FETCH_BYTES: number = 8 * MIB;
/** Objects that one request deletes. */
const DELETE_AT_ONCE = 1_000;

/** Up to one part a single request; beyond, the key is asked for, and begin, parts, end and a check follow. */
export function writeRequests(bytes: number): RequestCounts {
  if (bytes <= PART_BYTES) return { puts: 1, gets: 0, deletes: 0 };
  return { puts: Math.ceil(bytes / PART_BYTES) + 2, gets: 2, deletes: 0 };
}

/**
 * A rewrite asks for the size and the tail of an input, for each large run by itself, and for stretches of small ones
 * through a window that all inputs of the job share the memory of.
 */
export function inputRequests(runs: readonly ByteRange[], inputs: number): RequestCounts {
  const window = windowBytesFor(inputs);
  const large = runs.filter(({ length }) => length > window / 2);
  const small = joinRanges(runs.filter(({ length }) => length <= window / 2));
  let gets = 2;
  for (const { length } of large) gets += Math.ceil(length / RUN_READ_BYTES);
  for (const { length } of small) gets += Math.ceil(length / window);
  return { puts: 0, gets, deletes: 0 };
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
