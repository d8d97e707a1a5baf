import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { loadChecksum, xxh64, xxh64Parts } from '../../src/codec/checksum.ts';
import { MIB } from '../../src/limits/limits.ts';

/** Vectors of the XXH64 specification and of its reference implementation. */
const VECTORS: readonly (readonly [text: string, seed: bigint, hash: bigint])[] = [
  ['', 0n, 0xef46db3751d8e999n],
  ['a', 0n, 0xd24ec4f1a98c6e5bn],
  ['abc', 0n, 0x44bc2cf5ad770999n],
  ['Nobody inspects the spammish repetition', 0n, 0xfbcea83c8a378bf1n],
];

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Bytes without a period that a hash of the wrong range could miss. */
function pattern(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = 1;
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}

describe('xxh64', () => {
  before(loadChecksum);

  it('matches the reference vectors', () => {
    for (const [text, seed, hash] of VECTORS) assert.equal(xxh64(bytesOf(text), seed), hash, text);
  });

  it('depends on the seed, over all 64 bits', () => {
    const bytes = bytesOf('abc');
    const seeds = [0n, 1n, 1n << 32n, (1n << 64n) - 1n];
    const hashes = new Set(seeds.map((seed) => xxh64(bytes, seed)));
    assert.equal(hashes.size, seeds.length);
  });

  it('hashes a view of shared memory as it hashes a private copy', () => {
    const bytes = pattern(1000);
    const shared = new Uint8Array(new SharedArrayBuffer(1200), 56, 1000);
    shared.set(bytes);
    assert.equal(xxh64(shared), xxh64(bytes));
  });

  it('hashes tens of MiB as the sum of its pieces, wherever they are cut', () => {
    const bytes = pattern(24 * MIB + 13);
    const whole = xxh64(bytes, 7n);
    const pieces = [bytes.subarray(0, 1), bytes.subarray(1, 5 * MIB + 3), bytes.subarray(5 * MIB + 3)];
    assert.equal(xxh64Parts(pieces, 7n), whole);
    bytes[24 * MIB + 12] = (bytes[24 * MIB + 12] ?? 0) ^ 1;
    assert.notEqual(xxh64(bytes, 7n), whole);
  });

  it('agrees between one piece and many at every size', () => {
    const bytes = pattern(300 * 1024);
    fc.assert(
      fc.property(fc.nat(bytes.length), fc.nat(bytes.length), fc.bigInt(0n, (1n << 64n) - 1n), (length, cut, seed) => {
        const whole = bytes.subarray(0, length);
        assert.equal(xxh64Parts([whole.subarray(0, cut), whole.subarray(cut)], seed), xxh64(whole, seed));
      }),
      { numRuns: 200 },
    );
  });

  it('loads once for all callers', () => {
    assert.equal(loadChecksum(), loadChecksum());
  });
});
