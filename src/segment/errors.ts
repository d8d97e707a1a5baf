/** The coded errors of segments. Each names the object, the byte, what was expected there and what to do. */
import { MillraceError } from '../errors/millrace-error.ts';

/** Bytes of a segment are not what was written. */
export function segmentCorrupt(objectKey: string, position: number, problem: string, cause?: unknown): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_SEGMENT_CORRUPT',
    `segment ${objectKey} is damaged at byte ${position}: ${problem}; run "millrace verify" to see what is lost`,
    { details: { objectKey, position, problem }, cause },
  );
}

/** The segment is whole, but another store wrote it. */
export function foreignSegment(objectKey: string, expected: Uint8Array, found: Uint8Array): MillraceError {
  const ours = Buffer.from(expected).toString('hex');
  const theirs = Buffer.from(found).toString('hex');
  return new MillraceError(
    'ERR_MILLRACE_FOREIGN_FILE',
    `segment ${objectKey} belongs to store ${theirs}, not to ${ours}: give each store a directory or prefix of its own`,
    { details: { objectKey, expected: ours, found: theirs } },
  );
}

/** Written by a later version, whose layout this one cannot know. */
export function segmentTooNew(objectKey: string, position: number, version: number, known: number): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_FORMAT_TOO_NEW',
    `segment ${objectKey} has format version ${version} at byte ${position}, this millrace reads up to ${known}: ` +
      'use the millrace that wrote it, or a newer one',
    { details: { objectKey, position, version, known } },
  );
}
