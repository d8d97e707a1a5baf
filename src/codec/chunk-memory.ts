/**
 * Memory in which a chunk is put together. It is the kernel's own: frames are gathered where they are compressed, and
 * the chunk is hashed where it was written, so that none of its bytes is copied for a kernel's sake. Where the kernel
 * cannot run, the packages do the same work from plain memory.
 */
import { type ChunkKernel, KERNEL_SLACK_BYTES, startChunkKernel } from '../../wasm/kernel.ts';
import { assert } from '../base/assert.ts';
import { alignUp, viewOf } from '../base/bytes.ts';
import { MEMORY_PAGE_BYTES } from '../base/page-memory.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { CHUNK_RAW_BYTES_TARGET, MIB } from '../limits/limits.ts';
import { xxh64 } from './checksum.ts';
import { CODEC, compress } from './compression.ts';

const ALIGNMENT = 64;
/** No LZ4 block is larger than its input by more than a 255th and this. */
const LZ4_EXTRA_BYTES = 16;

export class ChunkMemory {
  readonly #kernel: ChunkKernel | undefined;
  /** Where the body is gathered. */
  readonly #start: number;
  #bytes: Uint8Array;
  #view: DataView;
  #gathered = 0;
  /** Bytes of body that there is room for in front of the chunk. */
  #room: number = CHUNK_RAW_BYTES_TARGET;

  constructor(kernel: ChunkKernel | undefined) {
    this.#kernel = kernel;
    this.#start = kernel === undefined ? 0 : alignUp(kernel.__heap_base.value, ALIGNMENT);
    this.#bytes = kernel === undefined ? new Uint8Array(0) : new Uint8Array(kernel.memory.buffer);
    this.#view = viewOf(this.#bytes);
  }

  /** All of the memory; another array after `gather` or `reserve`. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  get view(): DataView {
    return this.#view;
  }

  /** Bytes of the body so far. */
  get gathered(): number {
    return this.#gathered;
  }

  /** Forgets the body. */
  clear(): void {
    this.#gathered = 0;
  }

  /** Appends [`from`, `from + length`) of `source` to the body. */
  gather(source: Uint8Array, from: number, length: number): void {
    const end = this.#gathered + length;
    if (end > this.#room) this.#room = Math.max(end, 2 * this.#room);
    this.#ensure(this.#start + this.#room + KERNEL_SLACK_BYTES);
    this.#bytes.set(source.subarray(from, from + length), this.#start + this.#gathered);
    this.#gathered = end;
  }

  /** Room behind the body for the body once more, compressed or not, and `bytes`. Returns where it begins. */
  reserve(bytes: number): number {
    const at = alignUp(this.#start + this.#room + KERNEL_SLACK_BYTES, ALIGNMENT);
    const most = this.#gathered + Math.ceil(this.#gathered / 255) + LZ4_EXTRA_BYTES;
    this.#ensure(at + bytes + most + KERNEL_SLACK_BYTES);
    return at;
  }

  /** Writes the body to `at` as an LZ4 block, which may be larger than the body. Returns its bytes. */
  compressTo(at: number): number {
    if (this.#kernel !== undefined) return this.#kernel.compress(this.#start, this.#gathered, at);
    const block = compress(CODEC.lz4, this.#bytes.subarray(this.#start, this.#start + this.#gathered));
    this.#bytes.set(block, at);
    return block.length;
  }

  /** Writes the body to `at` as it is. */
  copyTo(at: number): void {
    this.#bytes.copyWithin(at, this.#start, this.#start + this.#gathered);
  }

  /** XXH64 of [`from`, `to`). */
  checksum(from: number, to: number): bigint {
    if (this.#kernel === undefined) return xxh64(this.#bytes.subarray(from, to));
    return BigInt.asUintN(64, this.#kernel.xxh64(from, to - from, 0n));
  }

  #ensure(bytes: number): void {
    const missing = bytes - this.#bytes.length;
    if (missing <= 0) return;
    try {
      if (this.#kernel === undefined) {
        const larger = new Uint8Array(alignUp(bytes, MEMORY_PAGE_BYTES));
        larger.set(this.#bytes);
        this.#bytes = larger;
      } else {
        this.#kernel.memory.grow(Math.ceil(missing / MEMORY_PAGE_BYTES));
        this.#bytes = new Uint8Array(this.#kernel.memory.buffer);
      }
    } catch (cause) {
      const message = `no memory for a chunk of ${this.#gathered} bytes; the process may be out of memory`;
      throw new MillraceError('ERR_MILLRACE_WRITE_FAILED', message, { details: { bytes: this.#gathered }, cause });
    }
    this.#view = viewOf(this.#bytes);
  }
}

/** Memories that nobody uses at the moment: each reserves gigabytes of address space, and its first use is slow. */
const idle: ChunkMemory[] = [];
const IDLE_MAX = 4;
/** WebAssembly memory never shrinks: one that a large record made larger is not kept. */
const BYTES_KEPT = 4 * MIB;
let unsupported = false;

export function takeChunkMemory(): ChunkMemory {
  return idle.pop() ?? new ChunkMemory(startKernel());
}

export function giveBackChunkMemory(memory: ChunkMemory): void {
  assert(!idle.includes(memory), 'a memory has one user');
  memory.clear();
  if (idle.length < IDLE_MAX && memory.bytes.length <= BYTES_KEPT) idle.push(memory);
}

function startKernel(): ChunkKernel | undefined {
  if (unsupported) return undefined;
  try {
    return startChunkKernel();
  } catch {
    unsupported = true;
    return undefined;
  }
}
