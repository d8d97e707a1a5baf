/** The manifest's coded errors, each with the file, the position and the remedy. */
import { AssertionError } from '../../base/assert.ts';
import { isSystemError } from '../../base/node-file-system.ts';
import { isMillraceError, MillraceError } from '../../errors/millrace-error.ts';
import { PayloadError } from './byte-reader.ts';

export function corrupt(file: string, position: number, what: string, cause?: unknown): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_MANIFEST_CORRUPT',
    `${file} is damaged at ${position}: ${what}. Restore the manifest directory from a backup`,
    { details: { file, position }, cause },
  );
}

/** A sound block whose content contradicts itself or the blocks before: as bad as a damaged one. */
export function contentFailure(file: string, position: number, error: unknown): unknown {
  if (!(error instanceof PayloadError) && !(error instanceof AssertionError)) return error;
  return corrupt(file, position, error.message, error);
}

/** Turns whatever kept the manifest from being read into its coded error. */
export function readFailure(directory: string, error: unknown): Error {
  if (isMillraceError(error) || error instanceof AssertionError) return error;
  const refused = isSystemError(error, 'EACCES', 'EPERM', 'ENOTDIR', 'EISDIR', 'ELOOP');
  const reason = error instanceof Error ? error.message : String(error);
  return new MillraceError(
    refused ? 'ERR_MILLRACE_DIRECTORY_UNUSABLE' : 'ERR_MILLRACE_READ_FAILED',
    `the manifest in ${directory} cannot be read: ${reason}`,
    { details: { directory }, cause: error },
  );
}
