/**
 * One record that waits for room in the ring. While the flush sets the pace every append waits, so that it is one
 * object with what it needs, and not a closure for each step. It holds no number that would be an object of its own:
 * the times of its tick are those of all appends of the tick.
 */
import type { RecordValue } from '../record/record-input.ts';
import type { WritableStreamState } from './frame-appender.ts';
import { Waiting } from './turn-queue.ts';

/** Between two turns of the event loop. */
export interface Tick {
  /** Wall time of its beginning. */
  readonly now: number;
  /** The same on the monotonic clock. */
  readonly start: number;
}

/** What a lane does with it. */
export interface QueuedAppendLane {
  /** Whether the record is in the ring now. */
  place(append: QueuedAppend): boolean;
  /** The record has `offset`: settles when it is durable. */
  placed(append: QueuedAppend, offset: number): void;
}

export class QueuedAppend extends Waiting {
  readonly stream: WritableStreamState;
  readonly value: RecordValue;
  readonly key: Uint8Array | null;
  /** As given; else that of its tick holds. */
  readonly timestamp: number | undefined;
  /** In which it came. */
  readonly tick: Tick;
  readonly #lane: QueuedAppendLane;
  #offset = 0;

  constructor(
    lane: QueuedAppendLane,
    bytes: number,
    stream: WritableStreamState,
    value: RecordValue,
    key: Uint8Array | null,
    timestamp: number | undefined,
    tick: Tick,
  ) {
    super(bytes);
    this.#lane = lane;
    this.stream = stream;
    this.value = value;
    this.key = key;
    this.timestamp = timestamp;
    this.tick = tick;
  }

  place(): boolean {
    this.#offset = this.stream.nextOffset;
    return this.#lane.place(this);
  }

  placed(): void {
    this.#lane.placed(this, this.#offset);
  }
}
