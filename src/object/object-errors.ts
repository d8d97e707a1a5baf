/** The coded errors that all object stores raise, so that a caller sees the same ones from a directory and from S3. */
import { AssertionError } from '../base/assert.ts';
import { isSystemError } from '../base/node-file-system.ts';
import { isMillraceError, MillraceError } from '../errors/millrace-error.ts';

export function objectNotFound(key: string, place: string, cause?: unknown): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_OBJECT_NOT_FOUND',
    `object ${key} is not in ${place}: open the store with the objects option that it was written with, or restore it ` +
      'from a backup',
    {
      details: { key },
      cause,
    },
  );
}

export function objectExists(key: string, place: string): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_OBJECT_EXISTS',
    `object ${key} is already in ${place}: keys are never used twice, so reserve a new one`,
    { details: { key } },
  );
}

/** The object is shorter than what somebody recorded about it. */
export function objectEndsEarly(key: string, position: number, length: number, bytes: number): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_SEGMENT_CORRUPT',
    `object ${key} ends at ${bytes}, inside the range [${position}, ${position + length}): ` +
      'it was cut short, restore it from a backup',
    { details: { key, position, length, bytes } },
  );
}

/** The coded form of whatever stopped a read. */
export function readFailed(key: string, place: string, cause: unknown): Error {
  if (isMillraceError(cause) || cause instanceof AssertionError) return cause;
  return new MillraceError(
    'ERR_MILLRACE_READ_FAILED',
    `object ${key} cannot be read from ${place}: ${reasonOf(cause)}: try again, or check the disk`,
    {
      details: { key },
      cause,
    },
  );
}

/**
 * The coded form of whatever stopped a write. A full disk and a used-up quota have their own code: the remedy differs.
 * Errors that are coded already, and broken invariants, stay what they are.
 */
export function writeFailed(path: string, cause: unknown): Error {
  if (isMillraceError(cause) || cause instanceof AssertionError) return cause;
  if (isSystemError(cause, 'ENOSPC', 'EDQUOT')) return diskFull(path, cause);
  const message = `${path}: ${reasonOf(cause)}: check the disk, then open the store again`;
  return new MillraceError('ERR_MILLRACE_WRITE_FAILED', message, { details: { path }, cause });
}

export function diskFull(path: string, cause?: unknown): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_DISK_FULL',
    `the disk or its quota is full: ${path} was not written; free space and open the store again`,
    { details: { path }, cause },
  );
}

/** Something else, such as a symbolic link, lies where a store keeps its own. */
export function notPlain(path: string, wanted: 'file' | 'directory'): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_DIRECTORY_UNUSABLE',
    `${path} must be a ${wanted}, and not a symbolic link: move away what has its name`,
    { details: { path } },
  );
}

/** Throws `ERR_MILLRACE_INVALID_ARGUMENT` for a range that no object can have. */
export function checkRange(position: number, length: number): void {
  const end = position + length;
  if (
    Number.isSafeInteger(position) &&
    Number.isSafeInteger(length) &&
    position >= 0 &&
    length >= 0 &&
    Number.isSafeInteger(end)
  )
    return;
  throw new MillraceError(
    'ERR_MILLRACE_INVALID_ARGUMENT',
    `position ${position} and length ${length} do not make a range of an object`,
  );
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
