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
