/**
 * An object store that keeps recently read blocks in memory. Reads of the same tick that miss are fetched together:
 * neighbouring blocks in one request, and no block twice at a time, however many readers wait for it.
 */
import { throwIfAborted } from '../errors/aborted.ts';
import { assert, required } from '../base/assert.ts';
import { KIB, MIB } from '../limits/limits.ts';
import { BlockCache, type CachedObject } from './block-cache.ts';
import { checkRange, objectEndsEarly, objectNotFound } from './object-errors.ts';
import type { ObjectEntry, ObjectStore, ObjectWriter, WriterMemory } from './object-store.ts';
import { NO_REQUESTS, type RequestTally } from './request-tally.ts';

export interface CachingObjectStoreOptions {
  /** Bytes of blocks kept. */
  readonly maxBytes: number;
  /** Bytes of a block. Default 256 KiB. */
  readonly blockBytes?: number;
  /** The most one request fetches. Default 8 MiB. */
  readonly maxFetchBytes?: number;
}

/** Counters of a cache, for `stats()`. */
export interface CacheCounters {
  /** Blocks served from memory. */
  hits: number;
  /** Blocks that had to be fetched. */
  misses: number;
  /** Blocks that somebody else was fetching already. */
  joined: number;
  /** Requests sent to the store behind. */
  fetches: number;
  /** Bytes asked for in those requests. */
  fetchedBytes: number;
  /** Bytes that readers got. */
  servedBytes: number;
  /** Reads too large to be kept, sent straight on. */
  bypassed: number;
}

const BLOCK_BYTES_DEFAULT: number = 256 * KIB;
const FETCH_BYTES_DEFAULT: number = 8 * MIB;
/** Sizes remembered: about 200 bytes each. */
const OBJECTS_REMEMBERED_MAX = 16_384;
/** A read of more than this part of the cache would push out everything else: a scan takes the direct way. */
const BYPASS_DIVISOR = 4;

/** A block on its way. */
interface PendingBlock {
  readonly index: number;
  readonly promise: Promise<Uint8Array>;
  readonly resolve: (bytes: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

/** What is being fetched of one object. */
interface ObjectFetches {
  readonly object: CachedObject;
  readonly pending: Map<number, PendingBlock>;
  /** Blocks asked for in this tick; sent together at its end. */
  queue: PendingBlock[];
}

/** Blocks of objects in memory, in front of another store. */
export class CachingObjectStore implements ObjectStore {
  /** What the cache answered, and what it had to ask for. */
  readonly counters: CacheCounters = {
    hits: 0,
    misses: 0,
    joined: 0,
    fetches: 0,
    fetchedBytes: 0,
    servedBytes: 0,
    bypassed: 0,
  };
  readonly #inner: ObjectStore;
  readonly #blockBytes: number;
  readonly #maxFetchBlocks: number;
  readonly #bypassBytes: number;
  readonly #cache: BlockCache;
  readonly #sizing = new Map<string, Promise<CachedObject | undefined>>();
  readonly #fetches = new Map<CachedObject, ObjectFetches>();

  constructor(inner: ObjectStore, options: CachingObjectStoreOptions) {
    this.#inner = inner;
    this.#blockBytes = options.blockBytes ?? BLOCK_BYTES_DEFAULT;
    assert(this.#blockBytes > 0, 'a block holds something');
    this.#maxFetchBlocks = Math.max(1, Math.floor((options.maxFetchBytes ?? FETCH_BYTES_DEFAULT) / this.#blockBytes));
    this.#bypassBytes = options.maxBytes / BYPASS_DIVISOR;
    this.#cache = new BlockCache(options.maxBytes, OBJECTS_REMEMBERED_MAX);
  }

  /** Bytes of blocks held. */
  get cachedBytes(): number {
    return this.#cache.bytes;
  }

  /** Of the store inside. */
  get writerMemory(): WriterMemory | undefined {
    return this.#inner.writerMemory;
  }

  create(key: string, memory?: number, bytes?: number): Promise<ObjectWriter> {
    return this.#inner.create(key, memory, bytes);
  }

  async read(key: string, position: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
    checkRange(position, length);
    throwIfAborted(signal);
    this.counters.servedBytes += length;
    if (length > this.#bypassBytes) {
      this.counters.bypassed += 1;
      return this.#inner.read(key, position, length, signal);
    }
    const object = this.#cache.object(key) ?? (await this.#look(key));
    if (object === undefined) throw objectNotFound(key, 'the object store');
    if (position + length > object.bytes) throw objectEndsEarly(key, position, length, object.bytes);
    const blocks = await unlessAborted(this.#blocksOf(object, position, length), signal);
    return this.#cut(blocks, position, length);
  }

  async size(key: string): Promise<number | undefined> {
    return (this.#cache.object(key) ?? (await this.#look(key)))?.bytes;
  }

  async delete(keys: readonly string[]): Promise<string[]> {
    for (const key of keys) this.#cache.forget(key);
    try {
      return await this.#inner.delete(keys);
    } finally {
      // Once more, for a reader that asked for the size meanwhile.
      for (const key of keys) this.#cache.forget(key);
    }
  }

  list(prefix?: string): AsyncIterable<ObjectEntry> {
    return this.#inner.list(prefix);
  }

  removeUnfinished(startedBefore: number, dryRun?: boolean): Promise<number> {
    return this.#inner.removeUnfinished(startedBefore, dryRun);
  }

  tally(): RequestTally {
    return this.#inner.tally?.() ?? NO_REQUESTS;
  }

  /** Closes the store behind it. */
  async close(): Promise<void> {
    this.#cache.clear();
    await this.#inner.close();
  }

  /** Asks for the size, once for all who wait. That an object is absent is not remembered: it may be written next. */
  #look(key: string): Promise<CachedObject | undefined> {
    const known = this.#sizing.get(key);
    if (known !== undefined) return known;
    const sizing = this.#inner
      .size(key)
      .then((bytes) => (bytes === undefined ? undefined : this.#cache.remember(key, bytes)))
      .finally(() => this.#sizing.delete(key));
    this.#sizing.set(key, sizing);
    return sizing;
  }

  #blocksOf(object: CachedObject, position: number, length: number): Promise<Uint8Array[]> {
    if (length === 0) return Promise.resolve([]);
    const blocks: Promise<Uint8Array>[] = [];
    const last = Math.floor((position + length - 1) / this.#blockBytes);
    for (let index = Math.floor(position / this.#blockBytes); index <= last; index += 1) {
      const cached = this.#cache.block(object, index);
      if (cached !== undefined) this.counters.hits += 1;
      blocks.push(cached === undefined ? this.#fetch(object, index) : Promise.resolve(cached));
    }
    return Promise.all(blocks);
  }

  #fetch(object: CachedObject, index: number): Promise<Uint8Array> {
    const fetches = this.#fetchesOf(object);
    const joined = fetches.pending.get(index);
    if (joined !== undefined) {
      this.counters.joined += 1;
      return joined.promise;
    }
    this.counters.misses += 1;
    const block = pendingBlock(index);
    fetches.pending.set(index, block);
    // All reads of this tick are in the queue before the first request is made.
    if (fetches.queue.push(block) === 1) queueMicrotask(() => this.#send(fetches));
    return block.promise;
  }

  #fetchesOf(object: CachedObject): ObjectFetches {
    let fetches = this.#fetches.get(object);
    if (fetches === undefined) {
      fetches = { object, pending: new Map(), queue: [] };
      this.#fetches.set(object, fetches);
    }
    return fetches;
  }

  #send(fetches: ObjectFetches): void {
    const queue = fetches.queue.sort((left, right) => left.index - right.index);
    fetches.queue = [];
    for (const run of neighbours(queue, this.#maxFetchBlocks)) void this.#fetchRun(fetches, run);
  }

  async #fetchRun(fetches: ObjectFetches, run: readonly PendingBlock[]): Promise<void> {
    const { object, pending } = fetches;
    const first = required(run[0], 'a run has a block').index;
    const position = first * this.#blockBytes;
    const length = Math.min(run.length * this.#blockBytes, object.bytes - position);
    this.counters.fetches += 1;
    this.counters.fetchedBytes += length;
    try {
      const bytes = await this.#inner.read(object.key, position, length);
      if (bytes.length !== length) throw objectEndsEarly(object.key, position, length, position + bytes.length);
      for (const block of run) {
        const from = (block.index - first) * this.#blockBytes;
        // A copy of its own: a view would keep the whole run in memory for as long as one of its blocks is cached.
        const piece = new Uint8Array(bytes.subarray(from, from + this.#blockBytes));
        this.#cache.keep(object, block.index, piece);
        block.resolve(piece);
      }
    } catch (error) {
      // What is remembered of the object may be what is wrong: it may have been deleted by another process.
      this.#cache.forget(object.key);
      for (const block of run) block.reject(error);
    } finally {
      for (const block of run) pending.delete(block.index);
      if (pending.size === 0) this.#fetches.delete(object);
    }
  }

  /** Copies the range out of its blocks: what a read returns belongs to the caller. */
  #cut(blocks: readonly Uint8Array[], position: number, length: number): Uint8Array {
    const target = new Uint8Array(length);
    let from = position % this.#blockBytes;
    let filled = 0;
    for (const block of blocks) {
      const piece = block.subarray(from, from + length - filled);
      target.set(piece, filled);
      filled += piece.length;
      from = 0;
    }
    assert(filled === length, 'the blocks cover the range');
    return target;
  }
}

function pendingBlock(index: number): PendingBlock {
  let resolve: (bytes: Uint8Array) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<Uint8Array>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // Everybody who waits may have been aborted.
  promise.catch(() => undefined);
  return { index, promise, resolve, reject };
}

/** Cuts sorted blocks into runs of neighbours, each at most `maxBlocks` long. */
function neighbours(blocks: readonly PendingBlock[], maxBlocks: number): PendingBlock[][] {
  const runs: PendingBlock[][] = [];
  for (const block of blocks) {
    const run = runs.at(-1);
    const previous = run?.at(-1);
    if (run !== undefined && previous?.index === block.index - 1 && run.length < maxBlocks) run.push(block);
    else runs.push([block]);
  }
  return runs;
}

/** Stops waiting when the signal fires. The fetch goes on: others may wait for it, and its blocks are kept. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => {
      try {
        throwIfAborted(signal);
      } catch (error) {
        reject(error);
      }
    };
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
