/**
 * LZ4 blocks without a size in front. The kernel compresses 1.4 times and decompresses 2 times as fast as the npm
 * package `lz4-wasm-nodejs` (docs/decisions/0007); where it cannot run, the package does the work. Both write the same
 * format.
 */
import { type ChunkKernel, KERNEL_SLACK_BYTES, startChunkKernel } from './kernel.ts';
import { compressWithPackage, decompressWithPackage } from './lz4-package.ts';

/** WebAssembly memory never shrinks: an instance whose memory is larger is dropped before the next call. */
const MEMORY_BYTES_KEPT = 64 * 2 ** 20;
const MEMORY_PAGE_BYTES = 65_536;
const ALIGNMENT = 64;

let kernel: ChunkKernel | undefined;
let unsupported = false;

/** The kernel, with room for an input and an output; `undefined` where it cannot run. */
function acquire(bytes: number): { kernel: ChunkKernel; input: number } | undefined {
  if (unsupported) return undefined;
  if (kernel !== undefined && kernel.memory.buffer.byteLength > MEMORY_BYTES_KEPT) kernel = undefined;
  try {
    kernel ??= startChunkKernel();
  } catch {
    unsupported = true;
    return undefined;
  }
  const input = aligned(kernel.__heap_base.value);
  const missing = input + bytes - kernel.memory.buffer.byteLength;
  if (missing > 0) kernel.memory.grow(Math.ceil(missing / MEMORY_PAGE_BYTES));
  return { kernel, input };
}

function aligned(position: number): number {
  return Math.ceil(position / ALIGNMENT) * ALIGNMENT;
}

/**
 * Compresses `bytes` to one LZ4 block without a size in front. The result is a view of WebAssembly memory:
 * it is valid until the next call into this module.
 */
export function compressLz4Block(bytes: Uint8Array): Uint8Array {
  const { length } = bytes;
  const most = length + Math.ceil(length / 255) + 16;
  const acquired = acquire(length + most + 2 * (KERNEL_SLACK_BYTES + ALIGNMENT));
  if (acquired === undefined) return compressWithPackage(bytes);
  const { kernel, input } = acquired;
  const output = aligned(input + length + KERNEL_SLACK_BYTES);
  new Uint8Array(kernel.memory.buffer).set(bytes, input);
  return new Uint8Array(kernel.memory.buffer, output, kernel.compress(input, length, output));
}

/**
 * Decompresses one LZ4 block that must yield exactly `rawBytes`. The caller bounds `rawBytes`: that much is allocated.
 * Returns `undefined` for a malformed block; the result is a view that is valid until the next call into this module.
 */
export function decompressLz4Block(block: Uint8Array, rawBytes: number): Uint8Array | undefined {
  const { length } = block;
  const acquired = acquire(length + rawBytes + 2 * (KERNEL_SLACK_BYTES + ALIGNMENT));
  if (acquired === undefined) return decompressWithPackage(block, rawBytes);
  const { kernel, input } = acquired;
  const output = aligned(input + length + KERNEL_SLACK_BYTES);
  new Uint8Array(kernel.memory.buffer).set(block, input);
  const restored = kernel.decompress(input, length, output, rawBytes);
  return restored === rawBytes ? new Uint8Array(kernel.memory.buffer, output, rawBytes) : undefined;
}
