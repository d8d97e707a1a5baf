/**
 * One record that waits for room in the ring. While the flush sets the pace every append waits, so that it is one
 * object with what it needs, and not a closure for each step.
 */
import type { RecordValue } from '../record/record-input.ts';
import type { WritableStreamState } from './frame-appender.ts';
import type { Settle, Turn } from './turn-queue.ts';

/** What a lane does with it. */
export interface QueuedAppendLane {
  /** Whether the record is in the ring now. */
  place(append: QueuedAppend): boolean;
  /** The record has `offset`: settles when it is durable. */
  placed(append: QueuedAppend, offset: number, settle: Settle): void;
}

export class QueuedAppend implements Turn {
  readonly stream: WritableStreamState;
  readonly value: RecordValue;
  readonly key: Uint8Array | null;
  readonly timestamp: number;
  /** On the monotonic clock. */
  readonly since: number;
  readonly #lane: QueuedAppendLane;
  #offset = 0;

  constructor(
    lane: QueuedAppendLane,
    stream: WritableStreamState,
    value: RecordValue,
    key: Uint8Array | null,
    timestamp: number,
    since: number,
  ) {
    this.#lane = lane;
    this.stream = stream;
    this.value = value;
    this.key = key;
    this.timestamp = timestamp;
    this.since = since;
  }

  place(): boolean {
    this.#offset = this.stream.nextOffset;
    return this.#lane.place(this);
  }

  placed(settle: Settle): void {
    this.#lane.placed(this, this.#offset, settle);
  }
}
