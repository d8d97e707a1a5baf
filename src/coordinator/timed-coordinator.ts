/** A coordinator whose calls are timed: where the time of appends and reads goes shows here first. */
import type { Clock } from '../base/clock.ts';
import { isMillraceError } from '../errors/millrace-error.ts';
import { Durations } from '../metrics/durations.ts';
import type { Coordinator } from './coordinator.ts';

/** Calls of one operation. */
export interface CallTimes {
  readonly durations: Durations;
  /** Failed calls by error code; errors without one count as `UNCODED`. */
  readonly errors: Record<string, number>;
}

/** By operation; those that were never called are absent. */
export type CoordinatorTimings = Readonly<Record<string, CallTimes>>;

export interface TimedCoordinator<Inner extends Coordinator = Coordinator> {
  readonly coordinator: Inner;
  readonly timings: CoordinatorTimings;
}

type Method = (...values: unknown[]) => Promise<unknown>;

export function timedCoordinator<Inner extends Coordinator>(inner: Inner, clock: Clock): TimedCoordinator<Inner> {
  const timings: Record<string, CallTimes> = {};
  const methods = new Map<PropertyKey, Method>();
  const coordinator = new Proxy(inner, {
    get(target, name): unknown {
      const known = methods.get(name);
      if (known !== undefined) return known;
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      const method = timed(value.bind(target) as Method, clock, () => timesOf(timings, String(name)));
      methods.set(name, method);
      return method;
    },
  });
  return { coordinator, timings };
}

function timesOf(timings: Record<string, CallTimes>, name: string): CallTimes {
  return (timings[name] ??= { durations: new Durations(), errors: {} });
}

function timed(method: Method, clock: Clock, times: () => CallTimes): Method {
  return async (...values) => {
    const begun = clock.monotonic();
    try {
      return await method(...values);
    } catch (error) {
      const code = isMillraceError(error) ? error.code : 'UNCODED';
      const { errors } = times();
      errors[code] = (errors[code] ?? 0) + 1;
      throw error;
    } finally {
      times().durations.add(clock.monotonic() - begun);
    }
  };
}
