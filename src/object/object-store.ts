/**
 * Where segments live: a flat set of immutable objects. A directory, S3, or memory implement it; retry, metering,
 * caching and faults are decorators around it. Every implementation passes the contract suite of `millrace/testing`.
 *
 * Keys are `[0-9a-z/.-]{1,200}`, made by the coordinator and never reused.
 */

import type { RequestTally } from './request-tally.ts';

/** Receives one object front to back. Exactly one of `commit` and `abort` ends it. */
export interface ObjectWriter {
  /** It copies what it takes into memory of its own, so small pieces cost nothing. Default false. */
  readonly copies?: boolean;
  /**
   * Takes the next bytes. They may be reused by the caller once the promise resolves.
   * Rejects with a coded error; the writer then accepts only `abort`.
   */
  write(bytes: Uint8Array): Promise<void>;
  /** Makes the object durable under its key, whole, in one step, and returns its size. */
  commit(): Promise<number>;
  /** Leaves nothing behind. Never rejects. */
  abort(): Promise<void>;
}

/** An object as a listing of the object store tells of it. */
export interface ObjectEntry {
  /** Its name. */
  readonly key: string;
  /** Its size. */
  readonly bytes: number;
  /** Milliseconds since the epoch by the store's clock. */
  readonly modifiedAt: number;
}

/** What a writer holds, in bytes, of what it was handed: at least, and where memory is of no concern. */
export interface WriterMemory {
  readonly least: number;
  readonly ample: number;
  /** An object that fits its memory is one request up to this size. */
  readonly single: number;
}

/**
 * Sends for a range once and yields it piece by piece, whatever its length. What is not asked for yet is not held in
 * memory. A piece is valid until the next one is asked for. Rejects as `read` does; ending it early ends the request.
 */
export type StreamRead = (
  key: string,
  position: number,
  length: number,
  signal?: AbortSignal,
) => AsyncGenerator<Uint8Array, void, void>;

/** Where segments lie. Its contract is a suite: `objectStoreContract` of `millrace/testing`. */
export interface ObjectStore {
  /**
   * Starts an object. Nothing is visible under the key before `commit`. `memory`: what its writer may hold, from
   * `writerMemory.least` on; default `writerMemory.ample`. `bytes`: how large the object is expected to be; it may
   * become larger.
   */
  create(key: string, memory?: number, bytes?: number): Promise<ObjectWriter>;
  /** Absent where writers hold nothing. */
  readonly writerMemory?: WriterMemory | undefined;
  /**
   * Reads exactly `length` bytes at `position`. Rejects with `ERR_MILLRACE_OBJECT_NOT_FOUND` when there is no such
   * object, `ERR_MILLRACE_SEGMENT_CORRUPT` when the object ends before the range does, `ERR_MILLRACE_READ_FAILED`
   * otherwise. `into`: memory of exactly `length` bytes to use instead of fresh, which a store may ignore; it is the
   * caller's again when the promise has settled.
   */
  read(key: string, position: number, length: number, signal?: AbortSignal, into?: Uint8Array): Promise<Uint8Array>;
  /** Absent where a request costs nothing. */
  readonly stream?: StreamRead | undefined;
  /** Size in bytes; `undefined` when there is no such object. */
  size(key: string): Promise<number | undefined>;
  /**
   * Deletes what it can and returns the keys that are certainly gone (absent ones count). Never rejects for a single
   * key.
   */
  delete(keys: readonly string[]): Promise<string[]>;
  /** Every object, in key order. For tools and the search for orphans: correctness never depends on it. */
  list(prefix?: string): AsyncIterable<ObjectEntry>;
  /**
   * Removes what stopped writers left of objects in the making, temporary files or multipart uploads, that nothing was
   * done to since a time (milliseconds since the epoch, by the store's clock). Returns how many; `dryRun` only counts.
   */
  removeUnfinished(startedBefore: number, dryRun?: boolean): Promise<number>;
  /** The requests it has sent since it was opened. Absent where calls are all there is to count. */
  tally?(): RequestTally;
  /** Releases what it holds; nothing is called after it. */
  close(): Promise<void>;
}

/** How a worker thread builds its own instance of a store: plain data that survives `postMessage`. */
export interface ObjectStoreDescriptor {
  /** URL of the module that exports `openObjectStore(options)`; a name in millrace's own descriptors. */
  readonly module: string;
  /** What the module is called with: plain data. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** An object store that has been chosen and not opened: what `open({ objects })` takes. */
export interface ObjectStoreComponent {
  /** From which worker threads open it too. */
  readonly descriptor: ObjectStoreDescriptor;
  /** Opens the store for the calling thread. */
  open(): Promise<ObjectStore>;
}
