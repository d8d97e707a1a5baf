/**
 * What an object key may look like. Every implementation checks keys before it uses them as a path or in a request:
 * a key never leaves the store's root and never collides with a temporary file.
 */
import { TEMPORARY_SUFFIX } from '../base/whole-file.ts';
import { MillraceError } from '../errors/millrace-error.ts';

export const KEY_CHARACTERS_MAX = 200;

const KEY_PATTERN = /^[0-9a-z/.-]{1,200}$/;
const FORBIDDEN_SEGMENTS: ReadonlySet<string> = new Set(['', '.', '..']);

/** Whether `key` may name an object. Empty, `.` and `..` segments are out: a leading or trailing slash makes one. */
export function isObjectKey(key: string): boolean {
  if (!KEY_PATTERN.test(key) || key.endsWith(TEMPORARY_SUFFIX)) return false;
  return key.split('/').every((segment) => !FORBIDDEN_SEGMENTS.has(segment));
}

/** Throws `ERR_MILLRACE_INVALID_ARGUMENT` for a key that no object can have. */
export function checkObjectKey(key: string): void {
  if (isObjectKey(key)) return;
  const shown = JSON.stringify(key.slice(0, KEY_CHARACTERS_MAX));
  throw new MillraceError(
    'ERR_MILLRACE_INVALID_ARGUMENT',
    `object key ${shown} is not usable: keys are 1 to ${KEY_CHARACTERS_MAX} characters of [0-9a-z/.-], ` +
      `without empty, "." or ".." segments, and do not end in "${TEMPORARY_SUFFIX}"`,
  );
}
