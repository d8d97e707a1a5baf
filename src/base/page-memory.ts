/**
 * Page-aligned memory. Direct I/O refuses any other address (EINVAL), and neither a plain `ArrayBuffer` nor a plain
 * `SharedArrayBuffer` promises it; the buffer of a `WebAssembly.Memory` does.
 */
import { alignUp, PAGE_BYTES } from './bytes.ts';

/** The one class used here: the type libraries declare WebAssembly only together with a browser's whole DOM. */
interface MemoryConstructor {
  new (descriptor: { initial: number; maximum: number; shared?: boolean }): { readonly buffer: unknown };
}
const { Memory } = (globalThis as unknown as { WebAssembly: { Memory: MemoryConstructor } }).WebAssembly;

/** WebAssembly memory comes in pages of this size. */
export const MEMORY_PAGE_BYTES = 65_536;

const inPages = new WeakSet<ArrayBufferLike>();

/** Whether memory begins at a page, by its address: one that this thread has allocated here. */
export function isInPages({ buffer, byteOffset }: Uint8Array): boolean {
  return byteOffset % PAGE_BYTES === 0 && inPages.has(buffer);
}

/** Zeroed, page-aligned memory for one thread. */
export function allocatePages(bytes: number): Uint8Array {
  const pages = alignUp(bytes, MEMORY_PAGE_BYTES) / MEMORY_PAGE_BYTES;
  const buffer = new Memory({ initial: pages, maximum: pages }).buffer as ArrayBuffer;
  inPages.add(buffer);
  return new Uint8Array(buffer, 0, bytes);
}

/** The memories behind the buffers that were handed out. */
const memories = new WeakMap<SharedArrayBuffer, object>();

/** Zeroed, page-aligned memory that threads share. */
export function allocateSharedPages(bytes: number): SharedArrayBuffer {
  const pages = alignUp(bytes, MEMORY_PAGE_BYTES) / MEMORY_PAGE_BYTES;
  const memory = new Memory({ initial: pages, maximum: pages, shared: true });
  const buffer = memory.buffer as SharedArrayBuffer;
  memories.set(buffer, memory);
  return buffer;
}

/**
 * The `WebAssembly.Memory` behind `buffer`, where this thread allocated it: what a WebAssembly module imports to work
 * on the bytes in place. It may be sent to other threads.
 */
export function memoryBehind(buffer: SharedArrayBuffer): object | undefined {
  return memories.get(buffer);
}
