import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MillraceError } from '../../src/errors/millrace-error.ts';
import { logPosition } from '../../src/ring/geometry.ts';
import { CommitDurability, type RunOutcome } from '../../src/stream/commit-durability.ts';

const [ORDERS, CLICKS, GONE] = [1, 2, 3];
const slotOf = (slotSequence: number) => ({ slotSequence, endPosition: 4_096, lastBlock: slotSequence });

interface Subject {
  readonly durability: CommitDurability;
  /** What appends were answered, in order: the offset, or the code of the error. */
  readonly answers: (number | string)[];
  readonly append: (streamId: number, localOffset: number) => void;
}

function start(): Subject {
  const answers: (number | string)[] = [];
  const durability = new CommitDurability(logPosition(0, 0), { durable: () => undefined, waiting: () => undefined });
  const append = (streamId: number, localOffset: number): void => {
    const resolve = (offset: number): unknown => answers.push(offset);
    const reject = (error: unknown): unknown => answers.push((error as MillraceError).code);
    durability.push(resolve, reject, streamId, localOffset);
  };
  return { durability, answers, append };
}

describe('appends without a WAL', () => {
  it('are acknowledged when their filling is committed and not before, at the offsets that it was given', async () => {
    const { durability, answers, append } = start();
    append(ORDERS, 7);
    append(CLICKS, 0);
    append(ORDERS, 8);
    durability.closed();
    const durable = durability.whenDurable(logPosition(0, 4_096)).then(() => answers.push('durable'));
    durability.sealed(0);
    append(ORDERS, 9);
    await Promise.resolve();
    assert.deepEqual(answers, []);
    const outcomes = new Map<number, RunOutcome>([
      [ORDERS, { localOffset: 7, shift: 100 }],
      [CLICKS, { localOffset: 0, shift: 40 }],
    ]);
    durability.committed(slotOf(0), outcomes);
    await durable;
    assert.deepEqual(answers, [107, 40, 108, 'durable']);
    durability.sealed(1);
    durability.committed(slotOf(1), new Map([[ORDERS, { localOffset: 9, shift: 250 }]]));
    assert.deepEqual(answers.slice(4), [259]);
  });

  it('are refused with their run, and when their stream was deleted meanwhile', () => {
    const { durability, answers, append } = start();
    append(ORDERS, 0);
    append(GONE, 0);
    durability.sealed(0);
    const refused = new MillraceError('ERR_MILLRACE_CONFLICT', 'somebody else has published');
    durability.committed(slotOf(0), new Map([[ORDERS, { localOffset: 0, refused }]]));
    assert.deepEqual(answers, ['ERR_MILLRACE_CONFLICT', 'ERR_MILLRACE_STREAM_NOT_FOUND']);
  });
});
