/** Failed writes as coded errors: the file, what happened, and the remedy, wherever the bytes were to go. */
import { AssertionError } from '../base/assert.ts';
import { isSystemError } from '../base/node-file-system.ts';
import { isMillraceError, MillraceError } from './millrace-error.ts';

/** A write that took less than it was given: the disk is full, even though the system raised no error. */
export function shortWrite(file: string, written: number, length: number, position: number): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_DISK_FULL',
    `${file}: wrote ${written} of ${length} bytes at ${position}: make room, then open the store again`,
    { details: { file, position, written, length } },
  );
}

/** Turns a failed write or sync into its coded error. One that has a code keeps it, and a bug stays a bug. */
export function writeFailure(file: string, error: unknown): Error {
  if (isMillraceError(error) || error instanceof AssertionError) return error;
  const full = isSystemError(error, 'ENOSPC', 'EDQUOT');
  const reason = error instanceof Error ? error.message : String(error);
  return new MillraceError(
    full ? 'ERR_MILLRACE_DISK_FULL' : 'ERR_MILLRACE_WRITE_FAILED',
    `${file}: ${reason}: ${full ? 'make room' : 'check the disk'}, then open the store again`,
    { details: { file }, cause: error },
  );
}
