/** Calls that the caller's `AbortSignal` ends. */
import { MillraceError } from './millrace-error.ts';

export function aborted({ reason }: AbortSignal): MillraceError {
  return new MillraceError('ERR_MILLRACE_ABORTED', 'the operation was aborted by its signal', { cause: reason });
}

/** Throws `ERR_MILLRACE_ABORTED` once the caller's signal has fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw aborted(signal);
}
