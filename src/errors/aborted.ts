/** Calls that the caller's `AbortSignal` ends. */
import { onAbort } from '../base/abort-listeners.ts';
import { checkSignal } from './argument-checks.ts';
import { MillraceError } from './millrace-error.ts';

function aborted({ reason }: AbortSignal): MillraceError {
  return new MillraceError('ERR_MILLRACE_ABORTED', 'the operation was aborted by its signal', { cause: reason });
}

/** Throws `ERR_MILLRACE_ABORTED` once the caller's signal has fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw aborted(signal);
}

/**
 * Waits for `work` no longer than until the signal fires, then rejects with `ERR_MILLRACE_ABORTED`: the work itself
 * goes on, and what becomes of it is open.
 */
export async function unlessAborted<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  if (signal === undefined) return work();
  checkSignal(signal);
  throwIfAborted(signal);
  const started = work();
  let forget: (() => void) | undefined;
  const abortion = new Promise<never>((_resolve, reject) => {
    forget = onAbort(signal, () => reject(aborted(signal)));
  });
  try {
    return await Promise.race([started, abortion]);
  } finally {
    forget?.();
    // Nobody may be waiting for it any more.
    started.catch(() => undefined);
  }
}
