/**
 * What is to happen when a caller's signal fires. One signal often serves thousands of calls at once, such as that of a
 * program that ends: each with a listener of its own would take time that grows with their square, for a signal looks
 * through all it has, and Node warns of a leak from the eleventh on.
 */

/** Wrapped, so that the same function may wait twice. */
interface Waiting {
  readonly stop: () => void;
}

interface Shared {
  readonly waiting: Set<Waiting>;
  readonly listener: () => void;
}

const SHARED = new WeakMap<AbortSignal, Shared>();

/** Calls `stop` when the signal fires, unless the returned function was called before. */
export function onAbort(signal: AbortSignal, stop: () => void): () => void {
  const shared = SHARED.get(signal) ?? share(signal);
  const entry = { stop };
  shared.waiting.add(entry);
  return () => {
    if (!shared.waiting.delete(entry) || shared.waiting.size > 0 || SHARED.get(signal) !== shared) return;
    SHARED.delete(signal);
    signal.removeEventListener('abort', shared.listener);
  };
}

function share(signal: AbortSignal): Shared {
  const waiting = new Set<Waiting>();
  const listener = (): void => {
    SHARED.delete(signal);
    for (const { stop } of waiting) stop();
  };
  signal.addEventListener('abort', listener, { once: true });
  const shared = { waiting, listener };
  SHARED.set(signal, shared);
  return shared;
}
