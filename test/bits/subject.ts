/** What a sweep of damages works on: one file of a golden store, and a judge of what its readers make of it. */
import assert from 'node:assert/strict';
import { isMillraceError, type MillraceError } from '../../src/errors/millrace-error.ts';
import type { DamageSpace } from './damages.ts';
import { DAMAGE_CODES } from '../support/damage-codes.ts';

export interface Subject {
  /** Store and file. */
  readonly name: string;
  /** The file as it should be. */
  readonly bytes: Uint8Array;
  /** Files of the same kind: of the same store, and of others. */
  readonly donors: readonly Uint8Array[];
  /** What is done to it. Default: everything. */
  readonly space?: DamageSpace;
  /**
   * Lets the readers of the file meet `damaged` in its place. Throws an `AssertionError` when they return what was
   * never written, miss what is intact, or fail with anything but a coded error that names file and position.
   */
  readonly check: (damaged: Uint8Array) => Promise<void> | void;
}

/** Holds that `error` reports damage, and names the file. */
export function assertReported(error: unknown, file: string): asserts error is MillraceError {
  if (!isMillraceError(error)) throw error;
  assert.ok(DAMAGE_CODES.includes(error.code), `${error.code} is not damage: ${error.message}`);
  assert.ok(error.message.includes(file), `names ${file}: ${error.message}`);
}

/** As `assertReported`, and that the place is named too, unless the file as a whole is another's. */
export function assertPlaced(error: unknown, file: string): asserts error is MillraceError {
  assertReported(error, file);
  if (error.code === 'ERR_MILLRACE_FOREIGN_FILE') return;
  assert.equal(typeof error.details.position, 'number', `names a position: ${error.message}`);
}
