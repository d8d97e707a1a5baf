/** A running hash over records in order: equal digests mean the same records, whole, in the same order. */
import { xxh64 } from '../../src/codec/checksum.ts';

const STAGING_BYTES = 256 * 1024;
/** Length and timestamp in front of each value: records that are cut elsewhere hash differently. */
const HEADER_BYTES = 12;

/**
 * Values are gathered and hashed in large pieces, each seeded by the hash before it. Where a piece ends follows from
 * the records alone.
 */
export class RecordDigest {
  readonly #staging: Buffer = Buffer.allocUnsafe(STAGING_BYTES);
  #used = 0;
  #hash = 0n;
  #records = 0;
  #bytes = 0;

  /** Records added so far. */
  get records(): number {
    return this.#records;
  }

  /** Bytes of their values. */
  get bytes(): number {
    return this.#bytes;
  }

  add(timestamp: number, value: Buffer): void {
    const needed = HEADER_BYTES + value.length;
    if (needed > STAGING_BYTES)
      throw new RangeError(`a record of ${value.length} bytes is too large for the benchmark`);
    if (this.#used + needed > STAGING_BYTES) {
      this.#hash = this.value();
      this.#used = 0;
    }
    this.#staging.writeUInt32LE(value.length, this.#used);
    this.#staging.writeDoubleLE(timestamp, this.#used + 4);
    value.copy(this.#staging, this.#used + HEADER_BYTES);
    this.#used += needed;
    this.#records += 1;
    this.#bytes += value.length;
  }

  /** The hash of everything added so far. */
  value(): bigint {
    return xxh64(this.#staging.subarray(0, this.#used), this.#hash);
  }
}
