/** The memory of a chunk, with the kernel and without it, against the codec that takes bytes from anywhere. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { ChunkMemory, giveBackChunkMemory, takeChunkMemory } from '../../src/codec/chunk-memory.ts';
import { loadChecksum, xxh64 } from '../../src/codec/checksum.ts';
import { CODEC, decompress } from '../../src/codec/compression.ts';
import { CHUNK_RAW_BYTES_TARGET } from '../../src/limits/limits.ts';
import { startChunkKernel } from '../../wasm/kernel.ts';

const pieces = fc.array(
  fc.record({ bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }), times: fc.integer({ min: 1, max: 9_000 }) }),
  { maxLength: 6 },
);

function piece({ bytes, times }: { readonly bytes: Uint8Array; readonly times: number }): Buffer {
  return Buffer.concat(Array.from({ length: times }, () => bytes));
}

for (const [name, make] of [
  ['with the kernel', () => new ChunkMemory(startChunkKernel())],
  ['without the kernel', () => new ChunkMemory(undefined)],
] as const) {
  describe(`the memory of a chunk, ${name}`, () => {
    before(loadChecksum);

    it('gathers, compresses, copies and hashes chunk after chunk, whatever their sizes', () => {
      const memory = make();
      fc.assert(
        fc.property(pieces, fc.nat(200), (parts, headerBytes) => {
          const body = Buffer.concat(parts.map(piece));
          for (const part of parts) {
            // With other bytes around it, as a frame lies in the ring.
            const around = Buffer.concat([Buffer.alloc(24, 1), piece(part), Buffer.alloc(8, 2)]);
            memory.gather(around, 24, around.length - 32);
          }
          assert.equal(memory.gathered, body.length);
          const at = memory.reserve(headerBytes + 8) + headerBytes;
          const stored = memory.bytes.slice(at, at + memory.compressTo(at));
          assert.deepEqual(Buffer.from(decompress(CODEC.lz4, stored, body.length)), body);
          memory.copyTo(at);
          assert.deepEqual(Buffer.from(memory.bytes.subarray(at, at + body.length)), body);
          assert.equal(memory.checksum(at, at + body.length), xxh64(body));
          memory.clear();
          assert.equal(memory.gathered, 0);
        }),
        { numRuns: 60 },
      );
    });

    it('grows under a body that is larger than a chunk is meant to be', () => {
      const memory = make();
      const frame = Buffer.from(Uint8Array.from({ length: 100_000 }, (_, index) => Math.imul(index, 0x9e3779b1) >>> 9));
      const count = Math.ceil((2 * CHUNK_RAW_BYTES_TARGET) / frame.length);
      for (let index = 0; index < count; index += 1) memory.gather(frame, 0, frame.length);
      const at = memory.reserve(8);
      memory.copyTo(at);
      const body = Buffer.concat(Array.from({ length: count }, () => frame));
      assert.ok(body.equals(memory.bytes.subarray(at, at + body.length)));
    });
  });
}

describe('memories that are given back', () => {
  it('come back empty, and no two takers get the same', () => {
    const first = takeChunkMemory();
    first.gather(new Uint8Array(8), 0, 8);
    giveBackChunkMemory(first);
    const [again, other] = [takeChunkMemory(), takeChunkMemory()];
    assert.deepEqual([again.gathered, other.gathered], [0, 0]);
    assert.notEqual(again, other);
    giveBackChunkMemory(again);
    giveBackChunkMemory(other);
  });
});
