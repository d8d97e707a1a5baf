/**
 * Loads the kernels in `wasm/kernel`: small modules that work on bytes where they lie in WebAssembly memory. Against
 * the packages that take bytes from anywhere they save the copies, and use 128-bit vectors (docs/decisions/0007).
 */
import { readFileSync } from 'node:fs';

/** Only what is used here: the type libraries declare WebAssembly only together with a browser's whole DOM. */
interface WebAssemblyClasses {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
}
const { Module, Instance } = (globalThis as unknown as { WebAssembly: WebAssemblyClasses }).WebAssembly;

/** Bytes behind every input and output that a kernel may read and overwrite. */
export const KERNEL_SLACK_BYTES = 64;

/** A kernel that imports the ring's memory. */
export interface RingKernel {
  /** XXH64, as a signed integer, of `length` bytes at `at`. */
  xxh64(at: number, length: number, seed: bigint): bigint;
}

/** A kernel with memory of its own. */
export interface ChunkKernel extends RingKernel {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  /** The first byte that is free for inputs and outputs. */
  readonly __heap_base: { readonly value: number };
  /** Compresses to one LZ4 block of at most `length + length / 255 + 16` bytes; returns its bytes. */
  compress(input: number, length: number, output: number): number;
  /** Restores one LZ4 block of at most `capacity` bytes; returns its bytes, or -1 when it is malformed. */
  decompress(input: number, length: number, output: number, capacity: number): number;
}

const modules = new Map<string, object>();

/** Throws where WebAssembly has no 128-bit vectors: on processors without SSE4.1, or with `--jitless`. */
export function startChunkKernel(): ChunkKernel {
  return new Instance(moduleOf('chunk.wasm'), {}).exports as ChunkKernel;
}

/** `memory` is a shared `WebAssembly.Memory`. Throws where the module cannot run. */
export function startRingKernel(memory: object): RingKernel {
  return new Instance(moduleOf('ring.wasm'), { env: { memory } }).exports as RingKernel;
}

function moduleOf(file: string): object {
  let compiled = modules.get(file);
  if (compiled === undefined) {
    compiled = new Module(readFileSync(new URL(`kernel/${file}`, import.meta.url)));
    modules.set(file, compiled);
  }
  return compiled;
}
