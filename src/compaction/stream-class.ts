/**
 * Which streams may share an object. What dies together should lie together, and what has to be found and rewritten for
 * a reason of its own (a deadline, keys) should not drag other streams along.
 */
import type { StreamConfig } from '../record/stream-config.ts';

/**
 * Outputs of key compaction count their generations from here: by the number alone planners know that every stream in
 * such an object was compacted from its log start up to the end of its runs there.
 */
export const COMPACTED_GENERATION = 256;

/** Data that expires. `bucket` numbers intervals of `expiryBucket` since the epoch. */
const EXPIRING = 'expires:';
const COMPACTED = 'compacted:';

/**
 * Names the class of a stream's data. `lastTimestamp` is the newest record's: with age-bound retention all of the data
 * has expired once that one has.
 */
export function classOf(config: StreamConfig, lastTimestamp: number, expiryBucket: number): string {
  const { retention, cleanup, deletionDeadline } = config;
  if (deletionDeadline !== undefined) return 'deadline';
  if (cleanup === 'compact') return 'keys';
  if (retention.maxBytes !== undefined) return 'size';
  if (retention.maxAge === undefined) return 'infinite';
  return `${EXPIRING}${Math.floor((lastTimestamp + retention.maxAge) / expiryBucket)}`;
}

/** The class of key-compacted data, which never lies beside data that is not. */
export function compactedClass(className: string): string {
  return `${COMPACTED}${className}`;
}

/** The bucket of expiring data; `undefined` for every other class. */
export function bucketOf(className: string): number | undefined {
  return className.startsWith(EXPIRING) ? Number(className.slice(EXPIRING.length)) : undefined;
}
