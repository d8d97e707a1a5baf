/**
 * Bounded retries with exponential backoff and jitter. Only what may succeed without repair is tried again; the
 * operation is called anew for each attempt, so that it can build its request and body from scratch: a body that an
 * earlier attempt consumed would store an empty object.
 */
import { throwIfAborted } from '../errors/aborted.ts';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { assert } from '../base/assert.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { systemRandom, type Random } from '../base/random.ts';
import { isMillraceError } from '../errors/millrace-error.ts';

export interface RetryPolicy {
  /** Calls in all, the first included. */
  readonly attempts: number;
  /** Milliseconds before the second attempt, before jitter; doubled for each further one. */
  readonly firstDelay: number;
  readonly maxDelay: number;
  /** No attempt starts later than this many milliseconds after the first. */
  readonly maxElapsed: number;
}

export const RETRY_DEFAULT: RetryPolicy = { attempts: 6, firstDelay: 50, maxDelay: 5_000, maxElapsed: 60_000 };

/** Waits; rejects when the signal fires first. */
export type Sleep = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

/** What retries need from the world, so that tests and simulations wait no time. */
export interface RetryEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly sleep: Sleep;
}

export const systemRetryEnvironment: RetryEnvironment = {
  clock: systemClock,
  random: systemRandom,
  sleep: async (milliseconds, signal) => {
    await sleepFor(milliseconds, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
    throwIfAborted(signal);
  },
};

/** Whether the same call may succeed later. Damage and refusals are final. */
export function isRetryable(error: unknown): boolean {
  return isMillraceError(error) && error.retryable;
}

/**
 * Milliseconds before attempt number `attempt` (1 is the second call). Half of it is random: many writers that were
 * slowed down together would otherwise come back together.
 */
export function backoffDelay(policy: RetryPolicy, attempt: number, random: Random): number {
  assert(attempt >= 1, 'the first attempt does not wait');
  const ceiling = Math.min(policy.maxDelay, policy.firstDelay * 2 ** (attempt - 1));
  return ceiling / 2 + random.below(Math.floor(ceiling / 2) + 1);
}

/** Calls `operation` until it resolves, fails for good, or the policy is used up; rejects with its last error. */
export async function retry<T>(
  operation: (attempt: number) => Promise<T>,
  policy: RetryPolicy,
  environment: RetryEnvironment,
  signal?: AbortSignal,
): Promise<T> {
  const started = environment.clock.monotonic();
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await operation(attempt);
    } catch (error) {
      if (!isRetryable(error) || attempt + 1 >= policy.attempts) throw error;
      const delay = backoffDelay(policy, attempt + 1, environment.random);
      if (environment.clock.monotonic() - started + delay > policy.maxElapsed) throw error;
      throwIfAborted(signal);
      await environment.sleep(delay, signal);
    }
  }
}
