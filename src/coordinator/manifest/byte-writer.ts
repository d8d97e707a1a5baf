/** Builds the payload of a block in place, behind room for its header. */
import { assert } from '../../base/assert.ts';
import { viewOf } from '../../base/bytes.ts';

const CAPACITY_MIN = 4096;
/** A buffer that one large payload made larger than this is given back. */
const CAPACITY_KEPT = 8 * 1024 * 1024;
const VARINT_BYTES_MAX = 8;
const TWO_POW_31 = 2 ** 31;

export class ByteWriter {
  readonly #start: number;
  #bytes: Uint8Array;
  #view: DataView;
  #position: number;

  /** `reserved` bytes stay free in front of what is written. */
  constructor(reserved = 0) {
    this.#start = reserved;
    this.#position = reserved;
    this.#bytes = new Uint8Array(CAPACITY_MIN);
    this.#view = viewOf(this.#bytes);
  }

  /** Bytes written, without the reserved ones. */
  get length(): number {
    return this.#position - this.#start;
  }

  /** The memory itself, from its first reserved byte to `length` behind what is written. Valid until the next write. */
  take(padding: number): Uint8Array {
    this.#ensure(padding);
    this.#bytes.fill(0, this.#position, this.#position + padding);
    return this.#bytes.subarray(0, this.#position + padding);
  }

  /** Forgets what was written. */
  reset(): void {
    this.#position = this.#start;
    if (this.#bytes.length <= CAPACITY_KEPT) return;
    this.#bytes = new Uint8Array(CAPACITY_MIN);
    this.#view = viewOf(this.#bytes);
  }

  /** Seven bits a byte, lowest first; the highest bit says that another byte follows. */
  unsigned(value: number): void {
    assert(Number.isSafeInteger(value) && value >= 0, 'a varint is a non-negative safe integer');
    this.#ensure(VARINT_BYTES_MAX);
    let rest = value;
    while (rest >= TWO_POW_31) {
      // Not the remainder, which of numbers beyond 32 bits is a call: these are most of a run's row.
      const above = Math.floor(rest / 128);
      this.#bytes[this.#position++] = (rest - above * 128) | 0x80;
      rest = above;
    }
    while (rest > 0x7f) {
      this.#bytes[this.#position++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#position++] = rest;
  }

  /** The first byte holds the sign in bit 6 and six bits of the magnitude: doubling could leave the safe integers. */
  signed(value: number): void {
    assert(Number.isSafeInteger(value), 'a signed varint is a safe integer');
    const magnitude = Math.abs(value);
    const sign = value < 0 ? 0x40 : 0;
    const rest = Math.floor(magnitude / 64);
    this.byte((magnitude - rest * 64) | sign | (rest > 0 ? 0x80 : 0));
    if (rest > 0) this.unsigned(rest);
  }

  byte(value: number): void {
    this.#ensure(1);
    this.#bytes[this.#position++] = value;
  }

  /** 16 hexadecimal digits as a u64. */
  checksum(digits: string): void {
    this.#ensure(8);
    this.#view.setUint32(this.#position, Number.parseInt(digits.slice(8), 16), true);
    this.#view.setUint32(this.#position + 4, Number.parseInt(digits.slice(0, 8), 16), true);
    this.#position += 8;
  }

  /** Length and UTF-8 bytes. */
  text(value: string): void {
    const bytes = Buffer.from(value);
    this.unsigned(bytes.length);
    this.#ensure(bytes.length);
    this.#bytes.set(bytes, this.#position);
    this.#position += bytes.length;
  }

  #ensure(count: number): void {
    const needed = this.#position + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#position));
    this.#bytes = grown;
    this.#view = viewOf(grown);
  }
}
