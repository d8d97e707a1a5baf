/** Names of consumers and publishers. */
import { MillraceError } from '../errors/millrace-error.ts';
import { REFERENCE_BYTES_MAX } from '../limits/limits.ts';

const CONTROL = /\p{Cc}/u;

/** Throws `ERR_MILLRACE_INVALID_REFERENCE` unless `reference` is 1 to 255 bytes of UTF-8 without control characters. */
export function checkReference(reference: unknown): asserts reference is string {
  if (typeof reference !== 'string') throw invalid(`a reference is a string, not ${typeof reference}`);
  if (reference === '') throw invalid('a reference is not empty');
  if (reference.length > REFERENCE_BYTES_MAX || Buffer.byteLength(reference) > REFERENCE_BYTES_MAX) {
    throw invalid(`a reference has at most ${REFERENCE_BYTES_MAX} bytes, this one has ${Buffer.byteLength(reference)}`);
  }
  if (CONTROL.test(reference)) throw invalid(`a reference holds no control characters: ${JSON.stringify(reference)}`);
  if (Buffer.from(reference).toString() !== reference) throw invalid('a reference is well-formed Unicode');
}

function invalid(message: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_INVALID_REFERENCE', message);
}
