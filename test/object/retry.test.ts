import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ManualClock } from '../../src/base/clock.ts';
import { SeededRandom } from '../../src/base/random.ts';
import { MillraceError } from '../../src/errors/millrace-error.ts';
import { backoffDelay, isRetryable, retry, systemRetryEnvironment } from '../../src/object/retry.ts';
import type { RetryEnvironment, RetryPolicy } from '../../src/object/retry.ts';
import { withCode } from '../../src/testing/object-store-contract.ts';

const POLICY: RetryPolicy = { attempts: 4, firstDelay: 100, maxDelay: 300, maxElapsed: 10_000 };

function environmentOf(seed = 1): RetryEnvironment & { readonly delays: number[] } {
  const clock = new ManualClock();
  const delays: number[] = [];
  const sleep = async (milliseconds: number): Promise<void> => {
    delays.push(milliseconds);
    clock.advance(milliseconds);
  };
  return { clock, random: new SeededRandom(seed), sleep, delays };
}

function unavailable(): MillraceError {
  return new MillraceError('ERR_MILLRACE_UNAVAILABLE', 'try later');
}

test('an operation that recovers is called until it does', async () => {
  const environment = environmentOf();
  const attempts: number[] = [];
  const result = await retry(
    async (attempt) => {
      attempts.push(attempt);
      if (attempt < 2) throw unavailable();
      return 'done';
    },
    POLICY,
    environment,
  );
  assert.equal(result, 'done');
  assert.deepEqual(attempts, [0, 1, 2]);
  assert.equal(environment.delays.length, 2);
});

test('attempts are bounded, and the last error is the one that is reported', async () => {
  let calls = 0;
  await assert.rejects(
    retry(
      async () => {
        calls += 1;
        throw new MillraceError('ERR_MILLRACE_UNAVAILABLE', `failure ${calls}`);
      },
      POLICY,
      environmentOf(),
    ),
    /failure 4/,
  );
  assert.equal(calls, 4);
});

test('what cannot succeed later is not tried again', async () => {
  const final = [
    new MillraceError('ERR_MILLRACE_SEGMENT_CORRUPT', 'damage'),
    new MillraceError('ERR_MILLRACE_REFUSED', 'no permission'),
    new MillraceError('ERR_MILLRACE_OBJECT_NOT_FOUND', 'absent'),
    new TypeError('a bug'),
  ];
  for (const error of final) {
    let calls = 0;
    await assert.rejects(
      retry(
        async () => {
          calls += 1;
          throw error;
        },
        POLICY,
        environmentOf(),
      ),
      error,
    );
    assert.equal(calls, 1);
    assert.equal(isRetryable(error), false);
  }
});

test('the time for all attempts is bounded', async () => {
  const environment = environmentOf();
  let calls = 0;
  await assert.rejects(
    retry(
      async () => {
        calls += 1;
        throw unavailable();
      },
      { attempts: 1000, firstDelay: 100, maxDelay: 100, maxElapsed: 1000 },
      environment,
    ),
  );
  assert.ok(environment.clock.monotonic() <= 1000, 'no attempt starts after the bound');
  assert.ok(calls > 5 && calls < 25, `${calls} calls`);
});

test('a signal ends the waiting', async () => {
  const controller = new AbortController();
  const policy = { ...POLICY, firstDelay: 60_000, maxDelay: 60_000, maxElapsed: 600_000 };
  const waiting = retry(
    async () => {
      setImmediate(() => controller.abort());
      throw unavailable();
    },
    policy,
    systemRetryEnvironment,
    controller.signal,
  );
  await assert.rejects(waiting, withCode('ERR_MILLRACE_ABORTED'));
});

test('delays double up to their bound, at least half of each is kept, and jitter spreads them', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 30 }), (seed, attempt) => {
      const ceiling = Math.min(POLICY.maxDelay, POLICY.firstDelay * 2 ** (attempt - 1));
      const delay = backoffDelay(POLICY, attempt, new SeededRandom(seed));
      assert.ok(delay >= ceiling / 2 && delay <= ceiling);
    }),
  );
  const delays = new Set(Array.from({ length: 50 }, (_, seed) => backoffDelay(POLICY, 3, new SeededRandom(seed))));
  assert.ok(delays.size > 25, 'writers that failed together do not come back together');
});
