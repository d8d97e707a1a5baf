/** Appends batch after batch with a bounded number of bytes on the way, and counts what is durable. */
import { Signal } from '../base/signal.ts';
import { MIB } from '../limits/limits.ts';
import { PackedValues } from '../record/packed-values.ts';
import type { RecordInput } from '../record/record-input.ts';
import type { Stream } from '../stream/stream.ts';

/** Enough to keep the WAL worker busy with full writes. */
const IN_FLIGHT_BYTES_MAX: number = 16 * MIB;
/** What a record takes beside its value: short lines are mostly this. */
const RECORD_OVERHEAD_BYTES = 16;

export type AppendTarget = Pick<Stream, 'appendOrThrow'>;
type Records = readonly RecordInput[] | PackedValues;

/** Records that are durable. */
export interface Kept {
  readonly records: number;
  /** Bytes of their values. */
  readonly bytes: number;
  /** Offset of the first; `undefined` without any. */
  readonly firstOffset: number | undefined;
  /** One past the last; `undefined` without any. */
  readonly nextOffset: number | undefined;
}

/** Records that came before there was where to append them. */
interface Early {
  readonly records: Records;
  readonly bytes: number;
}

export class BoundedAppender {
  readonly #open: (() => Promise<AppendTarget>) | undefined;
  #target: AppendTarget | undefined;
  #early: Early[] = [];
  readonly #inFlightBytesMax: number;
  readonly #settled = new Signal();
  #inFlightBytes = 0;
  #failure: { readonly error: unknown } | undefined;
  #kept: Kept = { records: 0, bytes: 0, firstOffset: undefined, nextOffset: undefined };

  /** Where to append; a function is called for the first records, so that without any no stream is made. */
  constructor(target: AppendTarget | (() => Promise<AppendTarget>), inFlightBytesMax: number = IN_FLIGHT_BYTES_MAX) {
    this.#open = typeof target === 'function' ? target : undefined;
    this.#target = typeof target === 'function' ? undefined : target;
    this.#inFlightBytesMax = inFlightBytesMax;
  }

  /** What was acknowledged so far. */
  get kept(): Kept {
    return this.#kept;
  }

  /**
   * Throws when the records are refused, or earlier ones were: nothing comes behind those. `bytes` is the sum of the
   * values. The memory of packed values may be used again when it returns; `room` says when to go on.
   */
  append(records: Records, bytes: number): void {
    this.#throwFailure();
    if (records.length === 0) return;
    this.#inFlightBytes += weightOf(records, bytes);
    if (this.#target === undefined) {
      this.#early.push({ records: records instanceof PackedValues ? records.kept() : records, bytes });
      if (this.#early.length === 1) void this.#sendEarly();
      return;
    }
    this.#send(this.#target, records, bytes);
    this.#throwFailure();
  }

  /** Resolves when there is room for more; rejects when an append failed. */
  async room(): Promise<void> {
    await this.#until(this.#inFlightBytesMax);
  }

  /** Resolves when everything appended is durable; rejects with the first failure. */
  async finish(): Promise<void> {
    await this.#until(0);
  }

  /** Resolves when nothing is on the way any more, whatever became of it. */
  async settled(): Promise<void> {
    while (this.#inFlightBytes > 0) await this.#settled.wait();
  }

  async #sendEarly(): Promise<void> {
    try {
      this.#target = await this.#open?.();
    } catch (error) {
      this.#failure = { error };
    }
    for (const { records, bytes } of this.#early) {
      if (this.#failure !== undefined || this.#target === undefined) this.#settle(weightOf(records, bytes));
      else this.#send(this.#target, records, bytes);
    }
    this.#early = [];
  }

  async #until(inFlightBytes: number): Promise<void> {
    while (this.#inFlightBytes > inFlightBytes && this.#failure === undefined) await this.#settled.wait();
    this.#throwFailure();
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Notes a refusal. Not async: that would keep the records, which are in the ring soon, until they are durable. */
  #send(target: AppendTarget, records: Records, bytes: number): void {
    const weight = weightOf(records, bytes);
    let appended: Promise<number>;
    try {
      appended = target.appendOrThrow(records);
    } catch (error) {
      this.#fail(error, weight);
      return;
    }
    const { length } = records;
    appended.then(
      (firstOffset) => {
        this.#kept = {
          records: this.#kept.records + length,
          bytes: this.#kept.bytes + bytes,
          firstOffset: this.#kept.firstOffset ?? firstOffset,
          nextOffset: firstOffset + length,
        };
        this.#settle(weight);
      },
      (error: unknown) => {
        this.#fail(error, weight);
      },
    );
  }

  #fail(error: unknown, weight: number): void {
    this.#failure ??= { error };
    this.#settle(weight);
  }

  #settle(weight: number): void {
    this.#inFlightBytes -= weight;
    this.#settled.notify();
  }
}

function weightOf(records: Records, bytes: number): number {
  return bytes + records.length * RECORD_OVERHEAD_BYTES;
}
