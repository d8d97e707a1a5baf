/**
 * Assertions stay on in production: a broken invariant stops the operation before it can touch data on disk.
 */

/** A broken invariant inside millrace itself: a bug, never a user's mistake. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/**
 * Throws `AssertionError` unless `condition` holds.
 * Hot loops pass a constant string: building a message costs more than the check.
 */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Narrows away `undefined` for indexes that an invariant says exist. */
export function required<T>(value: T | undefined, message: string): T {
  if (value === undefined) throw new AssertionError(message);
  return value;
}
