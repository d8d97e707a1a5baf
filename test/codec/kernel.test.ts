/** The kernels against the packages that do the same work, and against their own source. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { allocateSharedPages, memoryBehind } from '../../src/base/page-memory.ts';
import { checksumOfRanges, loadChecksum, xxh64 } from '../../src/codec/checksum.ts';
import { startChunkKernel } from '../../wasm/kernel.ts';
import { compressLz4Block, decompressLz4Block } from '../../wasm/lz4.ts';
import { compressWithPackage, decompressWithPackage } from '../../wasm/lz4-package.ts';

// Tests run from `dist/test/codec`.
const SOURCES = fileURLToPath(new URL('../../../wasm/kernel', import.meta.url));
/** The committed bytes are those of this compiler; another one may choose other instructions. */
const COMPILER = 'clang version 14.';

/** Bytes with repeats at every distance and of every length, among noise. */
const pieces = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map((bytes) => ({ bytes, times: 1 })),
    fc.record({ bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }), times: fc.nat(300) }),
  ),
  { maxLength: 30 },
);

function joined(parts: readonly { readonly bytes: Uint8Array; readonly times: number }[]): Buffer {
  return Buffer.concat(parts.flatMap(({ bytes, times }) => Array.from({ length: times }, () => bytes)));
}

/** Records that look alike: behind the first 8 KiB of them the kernel takes wider steps. */
function records(length: number, seed: number): Buffer {
  const lines: string[] = [];
  for (let bytes = 0, state = seed; bytes < length; bytes += lines.at(-1)!.length) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    lines.push(`{"id":${lines.length},"count":${state},"name":"name-${state % 9}","colour":"${state % 5}"},`);
  }
  return Buffer.from(lines.join('')).subarray(0, length);
}

/** Bytes that nothing can be made of. */
function noise(length: number, seed: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0, state = seed; at < length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

/** Decodes byte by byte, and holds the block to what the format says of its end. */
function decodeStrictly(block: Uint8Array): Buffer {
  const out: number[] = [];
  let at = 0;
  let lastMatchAt = -Infinity;
  const length = (nibble: number): number => {
    let sum = nibble;
    for (let byte = nibble === 15 ? 255 : 0; byte === 255; sum += byte) byte = block[at++]!;
    return sum;
  };
  for (;;) {
    const token = block[at++]!;
    const literals = length(token >> 4);
    out.push(...block.subarray(at, at + literals));
    at += literals;
    if (at === block.length) {
      assert.ok(lastMatchAt === -Infinity || literals >= 5, 'a block with a match ends with five literals or more');
      assert.ok(out.length - lastMatchAt >= 12, 'the last match begins twelve bytes before the end or earlier');
      return Buffer.from(out);
    }
    const distance = block[at]! + block[at + 1]! * 256;
    at += 2;
    assert.ok(distance > 0 && distance <= out.length, 'a match begins inside');
    lastMatchAt = out.length;
    for (let left = length(token & 15) + 4; left > 0; left -= 1) out.push(out[out.length - distance]!);
  }
}

describe('the LZ4 kernel', () => {
  it('runs here: what follows is about it and not about its substitute', () => {
    assert.ok(startChunkKernel().memory.buffer.byteLength > 0);
  });

  it('writes blocks that the package reads, and reads blocks that the package writes', () => {
    fc.assert(
      fc.property(pieces, (parts) => {
        const raw = joined(parts);
        const ours = compressLz4Block(raw).slice();
        assert.deepEqual(Buffer.from(decompressWithPackage(ours, raw.length) ?? []), raw);
        const theirs = compressWithPackage(raw).slice();
        assert.deepEqual(Buffer.from(decompressLz4Block(theirs, raw.length) ?? []), raw);
      }),
      { numRuns: 500 },
    );
  });

  it('restores inputs around every length at which it changes its ways', () => {
    for (const length of [0, 1, 4, 5, 11, 12, 13, 14, 15, 16, 17, 270, 8_191, 8_192, 8_193, 65_535, 65_536, 200_000]) {
      for (const distance of [1, 2, 3, 7, 8, 15, 16, 17, 1_000, 65_535, 65_536]) {
        const raw = Buffer.alloc(length);
        for (let at = 0; at < length; at += 1)
          raw[at] = at < distance ? Math.imul(at, 0x9e37) >>> 8 : raw[at - distance]!;
        const block = compressLz4Block(raw).slice();
        assert.ok(block.length <= length + Math.ceil(length / 255) + 16);
        assert.deepEqual(
          Buffer.from(decompressLz4Block(block, length) ?? [1]),
          raw,
          `${length} bytes, ${distance} apart`,
        );
      }
    }
  });

  it('keeps to the format in blocks of records, at every small length and where it takes wider steps', () => {
    const lengths = Array.from({ length: 300 }, (_, length) => length);
    for (const edge of [8_192, 16_384, 65_536]) for (let by = -20; by <= 20; by += 1) lengths.push(edge + by);
    for (const length of lengths) {
      const raw = records(length, length);
      assert.ok(decodeStrictly(compressLz4Block(raw)).equals(raw), `${length} bytes`);
    }
  });

  it('keeps to the format where records, repeats and noise follow each other', () => {
    const parts = fc.array(
      fc.oneof(
        fc.tuple(fc.nat(30_000), fc.nat()).map(([length, seed]) => records(length, seed)),
        fc.uint8Array({ maxLength: 2_000 }),
        // Longer than what the kernel judges a chunk by: the rest may be of another character.
        fc.tuple(fc.nat(20_000), fc.nat()).map(([length, seed]) => noise(length, seed)),
        fc.nat(20_000).map((length) => Buffer.alloc(length)),
        pieces.map(joined),
      ),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(parts, (chosen) => {
        const raw = Buffer.concat(chosen);
        const block = compressLz4Block(raw);
        assert.ok(block.length <= raw.length + Math.ceil(raw.length / 255) + 16);
        assert.ok(decodeStrictly(block).equals(raw));
      }),
      { numRuns: 100 },
    );
  });

  it('makes no small thing of what its steps leave out', () => {
    // A bound, far from what is usual, so that a table that forgets or a search that never begins is noticed.
    const raw = records(262_144, 1);
    assert.ok(compressLz4Block(raw).length < raw.length / 3);
    assert.ok(compressLz4Block(raw.subarray(0, 3_072)).length < 3_072 / 2);
  });

  it('refuses or restores any damaged block, and writes nothing behind what it was given', () => {
    const kernel = startChunkKernel();
    kernel.memory.grow(4);
    const input = kernel.__heap_base.value;
    fc.assert(
      fc.property(
        pieces,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        (parts, damage) => {
          const raw = joined(parts).subarray(0, 60_000);
          const block = compressLz4Block(raw).slice();
          for (const [at, value] of damage) block[at % block.length] = value;
          const memory = new Uint8Array(kernel.memory.buffer);
          const output = input + 80_000;
          memory.set(block, input);
          const end = output + raw.length + 64;
          memory.fill(0xa5, end, end + 4_096);
          const restored = kernel.decompress(input, block.length, output, raw.length);
          assert.ok(restored === -1 || restored <= raw.length);
          assert.ok(memory.subarray(end, end + 4_096).every((byte) => byte === 0xa5));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('refuses a length that would wrap', () => {
    const block = Buffer.alloc(17 * 2 ** 20, 0xff);
    assert.equal(decompressLz4Block(block, 100), undefined);
  });
});

describe('checksums in place', () => {
  before(loadChecksum);

  it('are those of the package, for every range, length and seed', () => {
    const memory = allocateSharedPages(4_096);
    const bytes = new Uint8Array(memory);
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = Math.imul(at, 0x9e3779b1) >>> 13;
    const inPlace = checksumOfRanges(bytes, memoryBehind(memory));
    fc.assert(
      fc.property(fc.nat(200), fc.nat(400), fc.bigInt(0n, 2n ** 64n - 1n), (from, length, seed) => {
        assert.equal(inPlace(from, from + length, seed), xxh64(bytes.subarray(from, from + length), seed));
      }),
    );
  });

  it('are computed from copies where the memory is not known', () => {
    const bytes = new Uint8Array(new SharedArrayBuffer(64)).fill(7);
    assert.equal(checksumOfRanges(bytes, undefined)(8, 40, 3n), xxh64(bytes.subarray(8, 40), 3n));
  });
});

describe('the committed modules', () => {
  it('are what their source compiles to', (context) => {
    let version: string;
    try {
      version = execFileSync('clang', ['--version'], { encoding: 'utf8' });
      execFileSync('wasm-ld', ['--version']);
    } catch {
      context.skip('clang and wasm-ld are not installed: the modules are not rebuilt here');
      return;
    }
    if (!version.includes(COMPILER)) {
      context.skip(`the modules are those of ${COMPILER}x, and here is ${version.split('\n')[0]}`);
      return;
    }
    const target = mkdtempSync(join(tmpdir(), 'millrace-kernel-'));
    try {
      execFileSync('bash', [join(SOURCES, 'build.sh'), target]);
      for (const file of ['chunk.wasm', 'lines.wasm', 'ring.wasm']) {
        assert.ok(readFileSync(join(target, file)).equals(readFileSync(join(SOURCES, file))), `${file} is out of date`);
      }
    } finally {
      rmSync(target, { recursive: true, force: true });
    }
  });
});
