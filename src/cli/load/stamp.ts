/** Records that carry when they were due, so that whoever reads one knows how long it took. */
import { recordPool } from './records.ts';
import { STAMP_BYTES } from './settings.ts';

/** Milliseconds since the epoch, with a fraction: a clock that all threads of a process share, and that never jumps. */
export function preciseNow(): number {
  return performance.timeOrigin + performance.now();
}

/** Below this, records of the pool have no room for what they are made of. */
const POOL_BYTES_MIN = 128;

/** Makes records of `bytes` bytes, `STAMP_BYTES` or more: the stamp, then text that compresses as JSON does. */
export class RecordMaker {
  readonly #bytes: number;
  readonly #pool: readonly Buffer[];
  #next = 0;

  constructor(bytes: number) {
    this.#bytes = bytes;
    this.#pool = recordPool(Math.max(bytes, POOL_BYTES_MIN));
  }

  /** A record that was due at `stamp`, of `preciseNow`. */
  make(stamp: number): Buffer {
    const record = Buffer.allocUnsafe(this.#bytes);
    const content = this.#pool[this.#next] as Buffer;
    this.#next = (this.#next + 1) % this.#pool.length;
    content.copy(record, STAMP_BYTES, 0, this.#bytes - STAMP_BYTES);
    record.writeDoubleLE(stamp, 0);
    return record;
  }
}

/** When the record was due. */
export function stampOf(record: Buffer): number {
  return record.readDoubleLE(0);
}
