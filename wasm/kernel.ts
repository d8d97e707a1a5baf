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

/** Memory of a kernel's own. */
export interface KernelMemory {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  /** The first byte that is free for inputs and outputs. */
  readonly __heap_base: { readonly value: number };
}

export interface ChunkKernel extends RingKernel, KernelMemory {
  /** Compresses to one LZ4 block of at most `length + length / 255 + 16` bytes; returns its bytes. */
  compress(input: number, length: number, output: number): number;
  /** Restores one LZ4 block of at most `capacity` bytes; returns its bytes, or -1 when it is malformed. */
  decompress(input: number, length: number, output: number, capacity: number): number;
}

export interface LineKernel extends KernelMemory {
  /**
   * Finds the lines that end in `length` bytes at `input`, and writes pairs of 32-bit words to `ranges`: where a line's
   * first byte is, and the one behind its last, counted from `input`. Unless `trim` is 0, a carriage return in front of
   * a newline is part of neither. Returns the number of lines.
   */
  cut(input: number, length: number, trim: number, ranges: number): number;
  /**
   * Writes up to `count` of the bytes that `ranges` tell of as records without keys, from `output` to `limit` at the
   * most. Returns how many; two words at `result` get where the last one ends and the sum of their bytes.
   */
  pack(
    input: number,
    ranges: number,
    count: number,
    timestampDelta: number,
    output: number,
    limit: number,
    result: number,
  ): number;
}

const modules = new Map<string, object>();

/** Throws where WebAssembly has no 128-bit vectors: on processors without SSE4.1, or with `--jitless`. */
export function startChunkKernel(): ChunkKernel {
  return new Instance(moduleOf('chunk.wasm'), {}).exports as ChunkKernel;
}

/** Throws where `startChunkKernel` does. */
export function startLineKernel(): LineKernel {
  return new Instance(moduleOf('lines.wasm'), {}).exports as LineKernel;
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
