/** A coordinator whose calls are timed: where the time of appends and reads goes shows here first. */
import type { Clock } from '../base/clock.ts';
import { isMillraceError } from '../errors/millrace-error.ts';
import { type LatencyCounts, LatencyHistogram } from '../metrics/latency-histogram.ts';
import type { Coordinator } from './coordinator.ts';

/** Calls of one operation. */
export interface CallTimes {
  readonly durations: LatencyCounts;
  /** Failed calls by error code; errors without one count as `UNCODED`. */
  readonly errors: Readonly<Record<string, number>>;
}

/** By operation; those that were never called are absent. */
export type CoordinatorTimings = Readonly<Record<string, CallTimes>>;

/** What the calls of a coordinator took so far. */
export class CallTimer {
  readonly #operations = new Map<string, { durations: LatencyHistogram; errors: Record<string, number> }>();

  /** `milliseconds` that a call took; with the code of the error that it failed with, if it did. */
  record(operation: string, milliseconds: number, code?: string): void {
    let times = this.#operations.get(operation);
    if (times === undefined)
      this.#operations.set(operation, (times = { durations: new LatencyHistogram(), errors: {} }));
    times.durations.record(milliseconds);
    if (code !== undefined) times.errors[code] = (times.errors[code] ?? 0) + 1;
  }

  snapshot(): CoordinatorTimings {
    const rows = [...this.#operations].map(([operation, { durations, errors }]) => {
      return [operation, { durations: durations.snapshot(), errors: { ...errors } }] as const;
    });
    return Object.fromEntries(rows);
  }
}

export interface TimedCoordinator<Inner extends Coordinator = Coordinator> {
  readonly coordinator: Inner;
  readonly timings: CallTimer;
}

type Method = (...values: unknown[]) => Promise<unknown>;

export function timedCoordinator<Inner extends Coordinator>(inner: Inner, clock: Clock): TimedCoordinator<Inner> {
  const timings = new CallTimer();
  const methods = new Map<PropertyKey, Method>();
  const coordinator = new Proxy(inner, {
    get(target, name): unknown {
      const known = methods.get(name);
      if (known !== undefined) return known;
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      const method = timed(value.bind(target) as Method, clock, (took, code) => {
        timings.record(String(name), took, code);
      });
      methods.set(name, method);
      return method;
    },
  });
  return { coordinator, timings };
}

function timed(method: Method, clock: Clock, record: (took: number, code?: string) => void): Method {
  return async (...values) => {
    const begun = clock.monotonic();
    let code: string | undefined;
    try {
      return await method(...values);
    } catch (error) {
      code = isMillraceError(error) ? error.code : 'UNCODED';
      throw error;
    } finally {
      record(clock.monotonic() - begun, code);
    }
  };
}
