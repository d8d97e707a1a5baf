/**
 * Durable when committed: without a WAL an append is acknowledged when its object is in the store and the coordinator
 * has assigned its offset. Entries wait by filling; records carry local offsets until the commit says where their run
 * went.
 */
import { assert } from '../base/assert.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { logPosition } from '../ring/geometry.ts';
import type { SealedSlot } from '../ring/producer.ts';
import { type Durability, type DurabilityObserver, DurableWaits } from './durability.ts';

interface Entry {
  readonly resolve: (offset: number) => void;
  readonly reject: (error: unknown) => void;
  readonly streamId: number;
  /** Counted by this process. */
  readonly offset: number;
}

/** What a commit made of a stream's run: what to add to its local offsets, or why it was refused. */
export type RunOutcome = (
  | {
      readonly shift: number;
    }
  | {
      readonly refused: MillraceError;
    }
) & {
  /** First local offset of the run. */
  readonly localOffset: number;
};

/** An append that is spread over more fillings than this learns that it was committed, and not where it begins. */
const FILLINGS_REMEMBERED = 64;

export class CommitDurability implements Durability {
  readonly #observer: DurabilityObserver;
  readonly #waits = new DurableWaits();
  /** Of the filling that is open. */
  #open: Entry[] = [];
  readonly #sealed = new Map<number, readonly Entry[]>();
  /** Of the last commits, newest first: an append that is spread over several begins in an earlier one. */
  readonly #outcomes: ReadonlyMap<number, RunOutcome>[] = [];
  #durableEnd: number;
  #failure: Error | undefined;

  constructor(logEnd: number, observer: DurabilityObserver) {
    this.#durableEnd = logEnd;
    this.#observer = observer;
  }

  get durableEnd(): number {
    return this.#durableEnd;
  }

  push(resolve: (offset: number) => void, reject: (error: unknown) => void, streamId: number, offset: number): void {
    this.#open.push({ resolve, reject, streamId, offset });
    if (this.#open.length === 1) this.#observer.waiting(true);
  }

  closed(): void {
    // A closed block is still in memory only: nothing becomes durable before its filling is committed.
  }

  /** The open filling ended: its entries wait for its commit. */
  sealed(slotSequence: number): void {
    this.#sealed.set(slotSequence, this.#open);
    this.#open = [];
  }

  /** A filling is committed, or holds nothing to commit. */
  committed(slot: SealedSlot, outcomes: ReadonlyMap<number, RunOutcome>): void {
    const entries = this.#sealed.get(slot.slotSequence);
    assert(entries !== undefined, 'a filling is sealed before it is committed');
    this.#sealed.delete(slot.slotSequence);
    this.#durableEnd = logPosition(slot.slotSequence, slot.endPosition);
    this.#outcomes.unshift(outcomes);
    if (this.#outcomes.length > FILLINGS_REMEMBERED) this.#outcomes.pop();
    for (const entry of entries) settle(entry, this.#outcomeOf(entry));
    this.#waits.settle(this.#durableEnd);
    this.#observer.waiting(this.#open.length > 0 || this.#sealed.size > 0);
    this.#observer.durable();
  }

  /** Of the run in which the entry begins; of a later part of it that was refused or deleted, that. */
  #outcomeOf({ streamId, offset }: Entry): RunOutcome | undefined {
    for (const outcomes of this.#outcomes) {
      const outcome = outcomes.get(streamId);
      if (outcome === undefined) {
        if (outcomes === this.#outcomes[0]) return undefined;
        continue;
      }
      if ('refused' in outcome || outcome.localOffset <= offset) return outcome;
    }
    return { localOffset: offset, refused: spreadTooFar(streamId) };
  }

  whenDurable(logEnd: number): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return logEnd <= this.#durableEnd ? Promise.resolve() : this.#waits.add(logEnd);
  }

  fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    const entries = [...[...this.#sealed.values()].flat(), ...this.#open];
    this.#sealed.clear();
    this.#open = [];
    for (const { reject } of entries) reject(error);
    this.#waits.rejectAll(error);
    this.#observer.waiting(false);
    this.#observer.durable();
  }
}

/** Entries without a stream are barriers. */
function settle(entry: Entry, outcome: RunOutcome | undefined): void {
  if (outcome === undefined) {
    if (entry.streamId === 0) entry.resolve(0);
    else entry.reject(deleted(entry.streamId));
  } else if ('refused' in outcome) {
    entry.reject(outcome.refused);
  } else {
    entry.resolve(entry.offset + outcome.shift);
  }
}

function spreadTooFar(streamId: number): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_UNSUPPORTED',
    `a group of stream ${streamId} was appended over more than ${FILLINGS_REMEMBERED} objects: append less at once`,
    { details: { streamId } },
  );
}

function deleted(streamId: number): MillraceError {
  return new MillraceError('ERR_MILLRACE_STREAM_NOT_FOUND', `stream ${streamId} was deleted before the commit`, {
    details: { streamId },
  });
}
