/**
 * Stored offsets of a stream without a WAL: none is lost to an outage, and each refusal reaches whoever it is about.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../src/base/clock.ts';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import { type ErrorCode, MillraceError } from '../../src/index.ts';
import { SharedReferences } from '../../src/stream/shared-references.ts';

/** A coordinator that fails per reference, and timers that run when told to. */
class Subject {
  readonly stored = new Map<string, number | undefined>();
  readonly failing = new Map<string, ErrorCode>();
  readonly timers: (() => void)[] = [];
  readonly references: SharedReferences;

  constructor() {
    const storeOffsets = async (_streamId: number, offsets: ReadonlyMap<string, number | undefined>): Promise<void> => {
      // A batch is refused for the first of its references that is.
      for (const reference of offsets.keys()) {
        const code = this.failing.get(reference);
        if (code !== undefined && (code !== 'ERR_MILLRACE_UNAVAILABLE' || offsets.size === 1)) {
          throw new MillraceError(code, reference);
        }
      }
      for (const [reference, offset] of offsets) this.stored.set(reference, offset);
    };
    this.references = new SharedReferences(1, {
      coordinator: { storeOffsets } as unknown as Coordinator,
      clock: new ManualClock(),
      maxInterval: 1_000,
      later: (_milliseconds, callback) => {
        this.timers.push(callback);
        return () => undefined;
      },
      claim: () => undefined,
    });
  }
}

test('offsets that could not be written one by one are written at the next interval', async () => {
  const { references, failing, stored, timers } = new Subject();
  failing.set('refused', 'ERR_MILLRACE_TOO_MANY_REFERENCES').set('unlucky', 'ERR_MILLRACE_UNAVAILABLE');
  await references.store('refused', 1, false);
  await references.store('unlucky', 2, false);
  await references.store('lucky', 3, false);
  await assert.rejects(references.flush(), { code: 'ERR_MILLRACE_UNAVAILABLE' });
  assert.deepEqual([...stored], [['lucky', 3]]);
  failing.clear();
  timers.at(-1)?.();
  await references.flush().catch(() => undefined);
  assert.equal(stored.get('unlucky'), 2);
});

test('whoever waits for an offset to be durable hears that it was not written, whoever else hears of it', async () => {
  const { references, failing, stored } = new Subject();
  failing.set('a', 'ERR_MILLRACE_WRITE_FAILED');
  // The first write is the flush's, and takes the offsets of both others along.
  const outcomes = await Promise.allSettled([
    references.store('b', 0, true),
    references.flush(),
    references.store('a', 1, true),
    references.store('a', 2, true),
  ]);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected', 'rejected'],
  );
  assert.deepEqual([...stored], [['b', 0]]);
});

test('whoever waits for an offset to be durable hears that it was forgotten', async () => {
  const { references, stored } = new Subject();
  const waiting = references.store('a', 1, true);
  references.discard();
  await assert.rejects(waiting, { code: 'ERR_MILLRACE_CLOSED' });
  assert.equal(stored.size, 0);
});

test('a refusal is told to those who store under the same reference, and to no others', async () => {
  const { references, failing, stored } = new Subject();
  failing.set('refused', 'ERR_MILLRACE_TOO_MANY_REFERENCES');
  await references.store('refused', 1, false);
  await references.store('other', 2, true);
  assert.equal(stored.get('other'), 2);
  await references.store('third', 3, true);
  await assert.rejects(references.store('refused', 4, false), { code: 'ERR_MILLRACE_TOO_MANY_REFERENCES' });
});

test('offsets of a stream that was deleted meanwhile keep no flush from going on', async () => {
  const { references, failing } = new Subject();
  failing.set('a', 'ERR_MILLRACE_STREAM_NOT_FOUND');
  await references.store('a', 1, false);
  await references.flush();
  await assert.rejects(references.store('a', 2, true), { code: 'ERR_MILLRACE_STREAM_NOT_FOUND' });
});
