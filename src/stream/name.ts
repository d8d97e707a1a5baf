/** Which names a stream may have. Names never become file names, but they appear in URLs, logs and shells. */
import { MillraceError } from '../errors/millrace-error.ts';
import { STREAM_NAME_BYTES_MAX } from '../limits/limits.ts';

const CONTROL = /\p{Cc}/u;

/**
 * Throws `ERR_MILLRACE_INVALID_STREAM_NAME` unless `name` is 1 to 255 bytes of UTF-8 without `/` and control
 * characters.
 */
export function checkStreamName(name: unknown): asserts name is string {
  if (typeof name !== 'string') throw invalid(`a stream name is a string, not ${typeof name}`);
  if (name === '') throw invalid('a stream name is not empty');
  // A UTF-16 unit is at least one byte: a cheap bound before counting what may be megabytes.
  if (name.length > STREAM_NAME_BYTES_MAX || Buffer.byteLength(name) > STREAM_NAME_BYTES_MAX) {
    throw invalid(`a stream name has at most ${STREAM_NAME_BYTES_MAX} bytes, this one has ${Buffer.byteLength(name)}`);
  }
  if (name.includes('/') || name.includes('\\')) throw invalid(`a stream name holds no slash: ${JSON.stringify(name)}`);
  if (name === '.' || name === '..') throw invalid(`a stream is not called ${name}`);
  if (CONTROL.test(name)) throw invalid(`a stream name holds no control characters: ${JSON.stringify(name)}`);
  if (Buffer.from(name).toString() !== name) throw invalid('a stream name is well-formed Unicode');
}

function invalid(message: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_INVALID_STREAM_NAME', message);
}
