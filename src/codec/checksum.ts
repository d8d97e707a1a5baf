/**
 * The engine's only checksum: XXH64. `loadChecksum` is awaited once per thread, at open; from then on hashing is
 * synchronous, because the WAL worker and the flush never yield between computing a checksum and writing it.
 */
import { startRingKernel } from '../../wasm/kernel.ts';
import { loadXxhash, type Xxhash64 } from '../../wasm/xxhash.ts';
import { assert } from '../base/assert.ts';

/**
 * Larger input is hashed piece by piece: the piece copied into WebAssembly memory stays in the processor's cache, and
 * that memory, which never shrinks, stays small.
 */
const PIECE_BYTES = 256 * 1024;

let loading: Promise<void> | undefined;
let xxhash: Xxhash64 | undefined;

/** Makes `xxh64` usable in this thread. Idempotent. */
export function loadChecksum(): Promise<void> {
  loading ??= loadXxhash().then((loaded) => {
    xxhash = loaded;
  });
  return loading;
}

function loaded(): Xxhash64 {
  assert(xxhash !== undefined, 'loadChecksum must finish before the first checksum');
  return xxhash;
}

/** XXH64 of `bytes`, which may be a view of shared memory that nobody writes meanwhile. */
export function xxh64(bytes: Uint8Array, seed = 0n): bigint {
  const hash = loaded();
  return bytes.length <= PIECE_BYTES ? hash.h64Raw(bytes, seed) : xxh64Parts([bytes], seed);
}

/** XXH64 of the concatenation of `parts`, without joining them. */
export function xxh64Parts(parts: Iterable<Uint8Array>, seed = 0n): bigint {
  const stream = loaded().create64(seed);
  for (const part of parts) {
    for (let from = 0; from < part.length; from += PIECE_BYTES) {
      stream.update(part.subarray(from, from + PIECE_BYTES));
    }
  }
  return stream.digest();
}

/** XXH64 of bytes [`from`, `to`) of one piece of memory. */
export type RangeChecksum = (from: number, to: number, seed: bigint) => bigint;

/**
 * Checksums of ranges of `bytes`, which begin where `memory`, the shared WebAssembly memory behind them, begins. There
 * they are computed in place, at 14 GB/s against 5.5 GB/s from copies (docs/decisions/0007). Without a memory, or where
 * the kernel cannot run, they are computed from copies.
 */
export function checksumOfRanges(bytes: Uint8Array, memory: object | undefined): RangeChecksum {
  const copying: RangeChecksum = (from, to, seed) => xxh64(bytes.subarray(from, to), seed);
  if (memory === undefined) return copying;
  assert(bytes.byteOffset === 0, 'positions are those of the memory');
  try {
    const kernel = startRingKernel(memory);
    return (from, to, seed) => BigInt.asUintN(64, kernel.xxh64(from, to - from, seed));
  } catch {
    return copying;
  }
}
