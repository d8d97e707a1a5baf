/** Appends batch after batch with a bounded number of bytes on the way, and counts what is durable. */
import { Signal } from '../base/signal.ts';
import { MIB } from '../limits/limits.ts';
import type { RecordInput } from '../record/record-input.ts';
import type { Stream } from '../stream/stream.ts';

/** Enough to keep the WAL worker busy with full writes. */
const IN_FLIGHT_BYTES_MAX: number = 16 * MIB;
/** What a record takes beside its value: short lines are mostly this. */
const RECORD_OVERHEAD_BYTES = 16;

export type AppendTarget = Pick<Stream, 'appendMany'>;

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

export class BoundedAppender {
  readonly #openStream: () => Promise<AppendTarget>;
  #stream: Promise<AppendTarget> | undefined;
  readonly #inFlightBytesMax: number;
  readonly #settled = new Signal();
  #inFlightBytes = 0;
  #failure: { readonly error: unknown } | undefined;
  #kept: Kept = { records: 0, bytes: 0, firstOffset: undefined, nextOffset: undefined };

  /** `openStream` is called for the first records: without any, no stream is made. */
  constructor(openStream: () => Promise<AppendTarget>, inFlightBytesMax: number = IN_FLIGHT_BYTES_MAX) {
    this.#openStream = openStream;
    this.#inFlightBytesMax = inFlightBytesMax;
  }

  /** What was acknowledged so far. */
  get kept(): Kept {
    return this.#kept;
  }

  /** Resolves when there is room for more; rejects when an earlier append failed. `bytes` is the sum of the values. */
  async append(records: readonly RecordInput[], bytes: number): Promise<void> {
    if (records.length === 0) return;
    const stream = await (this.#stream ??= this.#openStream());
    const weight = bytes + records.length * RECORD_OVERHEAD_BYTES;
    this.#inFlightBytes += weight;
    this.#send(stream, records, bytes, weight);
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

  async #until(inFlightBytes: number): Promise<void> {
    while (this.#inFlightBytes > inFlightBytes && this.#failure === undefined) await this.#settled.wait();
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Not an async function: that would keep the records, which are in the ring soon, until they are durable. */
  #send(stream: AppendTarget, records: readonly RecordInput[], bytes: number, weight: number): void {
    const count = records.length;
    stream
      .appendMany(records)
      .then(
        (firstOffset) => {
          this.#kept = {
            records: this.#kept.records + count,
            bytes: this.#kept.bytes + bytes,
            firstOffset: this.#kept.firstOffset ?? firstOffset,
            nextOffset: firstOffset + count,
          };
        },
        (error: unknown) => {
          this.#failure ??= { error };
        },
      )
      .finally(() => {
        this.#inFlightBytes -= weight;
        this.#settled.notify();
      });
  }
}
