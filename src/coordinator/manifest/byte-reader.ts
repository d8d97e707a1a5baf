/** Reads the payload of a block. Its checksum held, and still nothing is believed beyond the bytes that are there. */
import { viewOf } from '../../base/bytes.ts';

/** What a payload says makes no sense; whoever knows the file and the position turns it into a coded error. */
export class PayloadError extends Error {
  override readonly name = 'PayloadError';
}

/** Also a scale: the next byte of a varint counts 128 times as much as the one before. */
const VARINT_SCALE_MAX = 2 ** 49;

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }

  /** Bytes not read yet. */
  get remaining(): number {
    return this.#bytes.length - this.#position;
  }

  byte(): number {
    const value = this.#bytes[this.#position];
    if (value === undefined) throw new PayloadError('a value ends behind its block');
    this.#position += 1;
    return value;
  }

  unsigned(): number {
    let byte = this.byte();
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    let scale = 128;
    do {
      if (scale > VARINT_SCALE_MAX) throw new PayloadError('a varint is too long');
      byte = this.byte();
      value += (byte & 0x7f) * scale;
      scale *= 128;
    } while (byte >= 0x80);
    if (!Number.isSafeInteger(value)) throw new PayloadError('a varint is too large');
    return value;
  }

  signed(): number {
    const first = this.byte();
    const rest = first >= 0x80 ? this.unsigned() : 0;
    const magnitude = (first & 0x3f) + rest * 64;
    if (!Number.isSafeInteger(magnitude)) throw new PayloadError('a signed varint is too large');
    return (first & 0x40) === 0 ? magnitude : -magnitude;
  }

  checksum(): string {
    if (this.remaining < 8) throw new PayloadError('a checksum ends behind its block');
    const value = this.#view.getBigUint64(this.#position, true);
    this.#position += 8;
    return value.toString(16).padStart(16, '0');
  }

  /** Text of at most `limit` bytes. */
  text(limit: number): string {
    const length = this.unsigned();
    if (length > limit || length > this.remaining) throw new PayloadError(`a text of ${length} bytes is too long`);
    const bytes = this.#bytes.subarray(this.#position, this.#position + length);
    this.#position += length;
    try {
      return decoder.decode(bytes);
    } catch (cause) {
      throw new PayloadError('a text is not UTF-8', { cause });
    }
  }
}
