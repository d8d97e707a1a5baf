/** The work of all stores of this thread as entries of `node:perf_hooks`, for those who observe them. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { performance } from 'node:perf_hooks';
import type { CompactionMessage, FlushMessage } from './channels.ts';
import { systemClock } from './clock.ts';

/** Channels whose messages say how long the work took. */
const MEASURED = ['millrace:flush', 'millrace:compaction'] as const;

/**
 * From now on each flush and each compaction job is a `measure` entry named like its channel, with the message as its
 * `detail`, for every `PerformanceObserver`. The performance timeline does not keep them, so that a program that runs
 * for long does not fill its memory: `performance.getEntries()` has none. Until this is called nothing is measured,
 * and nothing costs anything. Returns the function that ends it.
 */
export function measurePerformance(): () => void {
  for (const name of MEASURED) subscribe(name, measure);
  return () => {
    for (const name of MEASURED) unsubscribe(name, measure);
  };
}

function measure(message: unknown, name: string | symbol): void {
  const { duration } = message as FlushMessage | CompactionMessage;
  const end = systemClock.monotonic();
  performance.measure(String(name), { start: end - duration, end, detail: message });
  performance.clearMeasures(String(name));
}
