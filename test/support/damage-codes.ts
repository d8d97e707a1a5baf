import type { ErrorCode } from '../../src/errors/codes.ts';

/** The errors that say of bytes that they are not what they should be. */
export const DAMAGE_CODES: readonly ErrorCode[] = [
  'ERR_MILLRACE_WAL_CORRUPT',
  'ERR_MILLRACE_MANIFEST_CORRUPT',
  'ERR_MILLRACE_SEGMENT_CORRUPT',
  'ERR_MILLRACE_FOREIGN_FILE',
  'ERR_MILLRACE_FORMAT_TOO_NEW',
];
