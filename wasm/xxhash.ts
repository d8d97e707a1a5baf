/** Loads the npm package `xxhash-wasm`. One instance serves a thread: its functions are synchronous. */
import xxhash from 'xxhash-wasm';

/** The two ways to compute XXH64 that the engine uses. */
export interface Xxhash64 {
  /** Hashes one piece of memory. Its WebAssembly memory grows to the size of the largest piece. */
  h64Raw(bytes: Uint8Array, seed?: bigint): bigint;
  /** Starts a hash that takes pieces. */
  create64(seed?: bigint): Xxhash64Stream;
}

export interface Xxhash64Stream {
  update(bytes: Uint8Array): Xxhash64Stream;
  digest(): bigint;
}

export async function loadXxhash(): Promise<Xxhash64> {
  return xxhash();
}
