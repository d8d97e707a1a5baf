import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CODEC, compress, decompress, isCodec } from '../../src/codec/compression.ts';
import { isMillraceError, type MillraceError } from '../../src/errors/millrace-error.ts';
import { CHUNK_RAW_BYTES_MAX, MIB } from '../../src/limits/limits.ts';

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

/** Runs `operation` and returns the coded error it must throw. */
function corruption(operation: () => unknown): MillraceError {
  try {
    operation();
  } catch (error) {
    assert.ok(isMillraceError(error, 'ERR_MILLRACE_SEGMENT_CORRUPT'), String(error));
    return error;
  }
  return assert.fail('the damage went unnoticed');
}

describe('compression', () => {
  it('restores what it compressed, from private and from shared memory', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5000 }), fc.nat(2000), fc.boolean(), (bytes, repeat, shared) => {
        const Memory = shared ? SharedArrayBuffer : ArrayBuffer;
        const raw = new Uint8Array(new Memory(bytes.length + repeat));
        raw.set(bytes);
        const stored = compress(CODEC.lz4, raw);
        const input = new Uint8Array(new Memory(stored.length));
        input.set(stored);
        assert.deepEqual(new Uint8Array(decompress(CODEC.lz4, input, raw.length)), new Uint8Array(raw));
      }),
      { numRuns: 300 },
    );
  });

  it('stores an LZ4 block as the block format defines it, without a size in front', () => {
    // One sequence of literals only: a token with the literal length in its high half, then the literals.
    assert.deepEqual([...compress(CODEC.lz4, text('abc'))], [0x30, 0x61, 0x62, 0x63]);
    assert.equal(Buffer.from(decompress(CODEC.lz4, text('\x30abc'), 3)).toString(), 'abc');
    // A match: two literals, then offset 2, length 4 + 4; the last five bytes are literals.
    const block = Uint8Array.of(0x24, 0x61, 0x62, 0x02, 0x00, 0x50, 0x76, 0x77, 0x78, 0x79, 0x7a);
    assert.equal(Buffer.from(decompress(CODEC.lz4, block, 15)).toString(), 'ababababab' + 'vwxyz');
  });

  it('expands what cannot be compressed by little, so that the caller can choose to store it', () => {
    const noise = new Uint8Array(10_000).map((_, index) => (Math.imul(index, 2654435761) ^ (index << 3)) >>> 13);
    assert.ok(compress(CODEC.lz4, noise).length <= noise.length + noise.length / 255 + 16);
  });

  it('hands through uncompressed bytes without a copy', () => {
    const bytes = text('as they are');
    assert.equal(compress(CODEC.none, bytes), bytes);
    assert.equal(decompress(CODEC.none, bytes, bytes.length), bytes);
  });

  it('gives each decompressed result memory of its own', () => {
    const first = decompress(CODEC.lz4, compress(CODEC.lz4, text('first')).slice(), 5);
    decompress(CODEC.lz4, compress(CODEC.lz4, text('other')).slice(), 5);
    assert.equal(Buffer.from(first).toString(), 'first');
    assert.equal(first.buffer.byteLength, 5);
  });

  it('writes into a target that is large enough, and leaves a smaller one alone', () => {
    const stored = compress(CODEC.lz4, text('twelve bytes')).slice();
    const target = new Uint8Array(20);
    const restored = decompress(CODEC.lz4, stored, 12, target);
    assert.equal(restored.buffer, target.buffer);
    assert.equal(Buffer.from(restored).toString(), 'twelve bytes');
    const small = new Uint8Array(11);
    assert.equal(Buffer.from(decompress(CODEC.lz4, stored, 12, small)).toString(), 'twelve bytes');
    assert.deepEqual(small, new Uint8Array(11));
  });

  it('goes on after large inputs made its memory grow', () => {
    const large = new Uint8Array(40 * MIB).fill(7);
    const stored = compress(CODEC.lz4, large).slice();
    assert.equal(Buffer.compare(decompress(CODEC.lz4, stored, large.length), large), 0);
    assert.equal(Buffer.from(decompress(CODEC.lz4, compress(CODEC.lz4, text('small')).slice(), 5)).toString(), 'small');
  });

  it('knows exactly the ids it defines', () => {
    assert.deepEqual([0, 1, 2, 255].map(isCodec), [true, true, false, false]);
  });
});

describe('decompression of hostile input', () => {
  it('refuses a claim of 4 GiB before allocating it', () => {
    const error = corruption(() => decompress(CODEC.lz4, new Uint8Array(100), 2 ** 32 - 1));
    assert.match(error.message, new RegExp(`no chunk is larger than ${CHUNK_RAW_BYTES_MAX}`));
  });

  it('refuses a claim that LZ4 cannot reach from so few bytes', () => {
    const error = corruption(() => decompress(CODEC.lz4, new Uint8Array(100), CHUNK_RAW_BYTES_MAX));
    assert.match(error.message, /cannot expand that far/);
  });

  it('accepts the strongest compression that LZ4 reaches', () => {
    const zeros = new Uint8Array(8 * MIB);
    const stored = compress(CODEC.lz4, zeros).slice();
    assert.ok(zeros.length / stored.length > 250);
    assert.equal(decompress(CODEC.lz4, stored, zeros.length).length, zeros.length);
  });

  it('refuses a claimed length that is not the real one, in both directions', () => {
    const stored = compress(CODEC.lz4, new Uint8Array(1000).fill(1)).slice();
    for (const claim of [0, 1, 999, 1001, 2000, -1, 1.5, NaN]) {
      corruption(() => decompress(CODEC.lz4, stored, claim));
      corruption(() => decompress(CODEC.none, new Uint8Array(1000), claim));
    }
  });

  it('answers any bytes with an error or with exactly the claimed length, and keeps working', () => {
    const sample = compress(CODEC.lz4, text('a sample a sample a sample that has matches')).slice();
    const mutated = fc.tuple(fc.nat(sample.length - 1), fc.nat(255)).map(([at, value]) => {
      const copy = sample.slice();
      copy[at] = value;
      return copy;
    });
    fc.assert(
      fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 300 })), fc.nat(3000), (block, claim) => {
        try {
          assert.equal(decompress(CODEC.lz4, block, claim).length, claim);
        } catch (error) {
          assert.ok(isMillraceError(error, 'ERR_MILLRACE_SEGMENT_CORRUPT'), String(error));
        }
        const good = decompress(CODEC.lz4, sample, 43);
        assert.equal(Buffer.from(good).toString(), 'a sample a sample a sample that has matches');
      }),
      { numRuns: 2000 },
    );
  });
});
