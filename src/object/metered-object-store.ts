/** An object store that counts what goes through it: requests cost money and throttling shows here first. */
import { isMillraceError } from '../errors/millrace-error.ts';
import type { ObjectEntry, ObjectStore, ObjectWriter, StreamRead, WriterMemory } from './object-store.ts';
import { RequestCounts, type RequestTally } from './request-tally.ts';

const OBJECT_OPERATIONS = ['create', 'write', 'commit', 'abort', 'read', 'size', 'delete', 'list', 'sweep'] as const;
/** Operations that reach the store: the rest is work on this side. */
const REQUESTS = ['commit', 'read', 'size', 'delete', 'list', 'sweep'] as const;
export type ObjectOperation = (typeof OBJECT_OPERATIONS)[number];

export interface OperationCounters {
  /** Calls that ended, well or not. */
  calls: number;
  /** Bytes written by `write`, returned by `read`. */
  bytes: number;
  /** Objects confirmed by `delete`, returned by `list`; unfinished ones that `sweep` (`removeUnfinished`) found. */
  objects: number;
  /** Keys that `delete` was asked for and did not confirm. */
  unconfirmed: number;
  /** Failed calls by error code; errors without one count as `UNCODED`. */
  readonly errors: Record<string, number>;
}

/** Plain data: safe to send to another thread or to print. */
export type ObjectStoreCounters = Readonly<Record<ObjectOperation, OperationCounters>>;

function newObjectStoreCounters(): ObjectStoreCounters {
  const entries = OBJECT_OPERATIONS.map((operation): [ObjectOperation, OperationCounters] => [
    operation,
    { calls: 0, bytes: 0, objects: 0, unconfirmed: 0, errors: {} },
  ]);
  return Object.fromEntries(entries) as Record<ObjectOperation, OperationCounters>;
}

/** Counts one call, whatever becomes of it; `add` counts what a successful one moved. */
async function metered<T>(counters: OperationCounters, call: () => Promise<T>, add?: (result: T) => void): Promise<T> {
  try {
    const result = await call();
    add?.(result);
    return result;
  } catch (error) {
    countError(counters, error);
    throw error;
  } finally {
    counters.calls += 1;
  }
}

function countError(counters: OperationCounters, error: unknown): void {
  const code = isMillraceError(error) ? error.code : 'UNCODED';
  counters.errors[code] = (counters.errors[code] ?? 0) + 1;
}

/** Counts the calls that go through to another store. */
export class MeteredObjectStore implements ObjectStore {
  /** Requests and bytes so far. */
  readonly counters: ObjectStoreCounters;
  readonly #inner: ObjectStore;

  /** Several stores may count into the same `counters`. */
  constructor(inner: ObjectStore, counters: ObjectStoreCounters = newObjectStoreCounters()) {
    this.#inner = inner;
    this.counters = counters;
  }

  /** Of the store inside. */
  get writerMemory(): WriterMemory | undefined {
    return this.#inner.writerMemory;
  }

  /** Of the store behind it, counted as one read each. */
  get stream(): StreamRead | undefined {
    const { stream } = this.#inner;
    if (stream === undefined) return undefined;
    return (...range) => this.#stream(stream.apply(this.#inner, range));
  }

  create(key: string, memory?: number, bytes?: number): Promise<ObjectWriter> {
    const create = async (): Promise<ObjectWriter> =>
      new MeteredWriter(await this.#inner.create(key, memory, bytes), this.counters);
    return metered(this.counters.create, create);
  }

  async *#stream(pieces: AsyncGenerator<Uint8Array, void, void>): AsyncGenerator<Uint8Array, void, void> {
    const { read } = this.counters;
    try {
      for await (const piece of pieces) {
        read.bytes += piece.byteLength;
        yield piece;
      }
    } catch (error) {
      countError(read, error);
      throw error;
    } finally {
      read.calls += 1;
    }
  }

  read(key: string, position: number, length: number, signal?: AbortSignal, into?: Uint8Array): Promise<Uint8Array> {
    const { read } = this.counters;
    return metered(
      read,
      () => this.#inner.read(key, position, length, signal, into),
      (bytes) => {
        read.bytes += bytes.byteLength;
      },
    );
  }

  size(key: string): Promise<number | undefined> {
    return metered(this.counters.size, () => this.#inner.size(key));
  }

  delete(keys: readonly string[]): Promise<string[]> {
    const counters = this.counters.delete;
    return metered(
      counters,
      () => this.#inner.delete(keys),
      (gone) => {
        counters.objects += gone.length;
        counters.unconfirmed += keys.length - gone.length;
      },
    );
  }

  async *list(prefix?: string): AsyncIterable<ObjectEntry> {
    const { list } = this.counters;
    try {
      for await (const entry of this.#inner.list(prefix)) {
        list.objects += 1;
        yield entry;
      }
    } catch (error) {
      countError(list, error);
      throw error;
    } finally {
      list.calls += 1;
    }
  }

  removeUnfinished(startedBefore: number, dryRun?: boolean): Promise<number> {
    const { sweep } = this.counters;
    return metered(
      sweep,
      () => this.#inner.removeUnfinished(startedBefore, dryRun),
      (removed) => {
        sweep.objects += removed;
      },
    );
  }

  /** Calls stand for requests where the store behind counts none. */
  tally(): RequestTally {
    const inner = this.#inner.tally?.();
    if (inner !== undefined) return inner;
    const counts = new RequestCounts();
    for (const operation of REQUESTS) {
      const { calls, bytes, errors } = this.counters[operation];
      if (calls > 0) counts.requests[operation] = calls;
      const moved = operation === 'commit' ? this.counters.write.bytes : bytes;
      if (moved > 0) counts.bytes[operation] = moved;
      for (const [code, failed] of Object.entries(errors)) counts.errors[`${operation} ${code}`] = failed;
    }
    return counts;
  }

  /** Closes the store behind it. */
  close(): Promise<void> {
    return this.#inner.close();
  }
}

class MeteredWriter implements ObjectWriter {
  readonly #inner: ObjectWriter;
  readonly #counters: ObjectStoreCounters;

  get copies(): boolean {
    return this.#inner.copies === true;
  }

  constructor(inner: ObjectWriter, counters: ObjectStoreCounters) {
    this.#inner = inner;
    this.#counters = counters;
  }

  write(bytes: Uint8Array): Promise<void> {
    const { write } = this.#counters;
    return metered(
      write,
      () => this.#inner.write(bytes),
      () => {
        write.bytes += bytes.byteLength;
      },
    );
  }

  commit(): Promise<number> {
    return metered(this.#counters.commit, () => this.#inner.commit());
  }

  abort(): Promise<void> {
    return metered(this.#counters.abort, () => this.#inner.abort());
  }
}
