/** A stream as users hold it. */
import { Readable, Writable } from 'node:stream';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import type { RecordBatch, StreamRecord } from '../record/record-batch.ts';
import { type AppendOptions, keyBytes, type RecordInput, type RecordValue } from '../record/record-input.ts';
import type { StreamConfig, StreamDescription } from '../record/stream-config.ts';
import { type BatchSource, readBatchesFrom } from './batch-cursor.ts';
import type { WritableStreamState } from './frame-appender.ts';
import type { Lane } from './lane.ts';
import type { ReadFrom, ReadOptions } from './read-options.ts';
import { RecordIterator } from './record-iterator.ts';
import { configOf, type StreamOptions } from './stream-options.ts';

/** What a store lends its streams. */
export interface StreamContext extends BatchSource {
  readonly coordinator: Coordinator;
  /** The writing side; throws a coded error when the store takes no appends. */
  writer(): Lane;
  /** One past the last durable offset of a stream that is in no segment yet; `undefined` when there is none. */
  durableNextOffset(streamId: number): number | undefined;
  /** Durable records and user bytes that are in no segment yet. */
  unflushedTotals(streamId: number): { readonly records: number; readonly userBytes: number };
  /** Moves everything acknowledged so far into segments. */
  flush(): Promise<void>;
  /** A stream's config has changed. */
  configured(stream: StreamDescription): void;
}

export interface StreamInfo {
  readonly name: string;
  readonly config: StreamConfig;
  /** Offset of the oldest record that can be read. */
  readonly firstOffset: number;
  /** Offset of the next record to be appended. */
  readonly nextOffset: number;
  /** Records below this offset are durable. */
  readonly durableOffset: number;
  /** Durable user records, counted exactly. */
  readonly records: number;
  /** Bytes of their keys and values. */
  readonly userBytes: number;
  /** Stored bytes of consumer offsets and publisher ids. */
  readonly trackingBytes: number;
  /** Bytes the stream takes in segments. */
  readonly storedBytes: number;
  /** Segments that hold a part of the stream. */
  readonly segments: number;
  /** Smallest and largest timestamp in segments; `undefined` without records there. */
  readonly firstTimestamp: number | undefined;
  readonly lastTimestamp: number | undefined;
}

/** Values that a writable takes per call to `appendMany`. */
const WRITABLE_HIGH_WATER = 4_096;

export class Stream {
  #description: StreamDescription;
  readonly #state: WritableStreamState;
  readonly #context: StreamContext;
  #deleted = false;

  /** @internal */
  constructor(description: StreamDescription, state: WritableStreamState, context: StreamContext) {
    this.#description = description;
    this.#state = state;
    this.#context = context;
  }

  get name(): string {
    return this.#description.name;
  }

  get config(): StreamConfig {
    return this.#description.config;
  }

  /**
   * Appends one record. Resolves with its offset once it is durable. Bytes are copied before the call returns, unless
   * the ring is full: do not change them until the promise settles.
   */
  append(value: RecordValue, options?: AppendOptions): Promise<number> {
    try {
      const lane = this.#writer();
      return lane.append(this.#state, value, options === undefined ? null : keyBytes(options.key), options?.timestamp);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  /**
   * Appends many records with consecutive offsets. Resolves with the first offset once all are durable. After a crash all
   * or none are there when they take less than 1 MiB; of more, a prefix may be. Waits for room however full the ring is.
   */
  appendMany(records: readonly RecordInput[]): Promise<number> {
    try {
      return this.#writer().appendMany(this.#state, records);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  /** Reads record by record. Errors end the iteration; see `ReadOptions`. */
  read(options: ReadOptions = {}): AsyncIterableIterator<StreamRecord> {
    const { limit = Infinity } = options;
    checkLimit(limit);
    return new RecordIterator(this.#batches(options), limit);
  }

  /** Reads batch by batch: the fast path. Values are views that keep their batch in memory. */
  async *readBatches(options: ReadOptions = {}): AsyncGenerator<RecordBatch> {
    const { limit = Infinity } = options;
    checkLimit(limit);
    let left = limit;
    for await (const batch of this.#batches(options)) {
      if (left === 0) return;
      if (batch.length > left) {
        yield batch.first(left);
        return;
      }
      left -= batch.length;
      yield batch;
    }
  }

  /** The record at `offset`; `undefined` when there is none, or not durably yet. */
  async get(offset: number): Promise<StreamRecord | undefined> {
    checkOffset(offset);
    this.#check();
    const { streamId } = this.#description;
    const unflushed = this.#context.unflushed.firstOffset(streamId);
    if (unflushed !== undefined && offset >= unflushed) {
      const durable = this.#context.durableNextOffset(streamId);
      if (durable === undefined || offset >= durable) return undefined;
    }
    const only = { from: offset, limit: 1, onTrimmed: 'skip' as const };
    if (unflushed === undefined || offset < unflushed) {
      const { firstOffset, runs } = await this.#context.coordinator.findRuns(streamId, offset, { maxRuns: 1, maxBytes: 1 });
      const [run] = runs;
      if (offset < firstOffset) return undefined;
      if (run !== undefined && offset < run.endOffset) {
        return (await this.#context.segments.find(run, offset))?.find(offset);
      }
    }
    for await (const batch of readBatchesFrom(this.#context, this.#description, offset, only)) return batch.find(offset);
    return undefined;
  }

  /** Removes the records below `beforeOffset`. They are unreadable at once; their bytes go with compaction. */
  async trim(beforeOffset: number): Promise<void> {
    checkOffset(beforeOffset);
    const { streamId } = this.#description;
    this.#writer();
    if (beforeOffset > this.#state.nextOffset) throw this.#outOfRange(beforeOffset, this.#state.nextOffset);
    const { nextOffset } = await this.#context.coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 });
    if (beforeOffset > nextOffset) await this.#context.flush();
    await this.#context.coordinator.trim(streamId, beforeOffset);
  }

  /** Changes the options given and keeps the others. */
  async configure(options: StreamOptions): Promise<void> {
    this.#writer();
    const config = configOf(options, this.#description.config);
    this.#description = await this.#context.coordinator.configureStream(this.#description.streamId, config);
    this.#context.configured(this.#description);
  }

  async info(): Promise<StreamInfo> {
    this.#check();
    const { streamId, name, config } = this.#description;
    // Taken together with the unflushed part, before anything can be flushed in between.
    const totals = await this.#context.coordinator.streamTotals(streamId);
    const unflushed = this.#context.unflushedTotals(streamId);
    const durableOffset = Math.max(totals.nextOffset, this.#context.durableNextOffset(streamId) ?? 0);
    return {
      name,
      config,
      firstOffset: totals.firstOffset,
      nextOffset: Math.max(durableOffset, this.#state.nextOffset),
      durableOffset,
      records: totals.records + unflushed.records,
      userBytes: totals.userBytes + unflushed.userBytes,
      trackingBytes: totals.trackingBytes,
      storedBytes: totals.storedBytes,
      segments: totals.segments,
      firstTimestamp: totals.firstTimestamp,
      lastTimestamp: totals.lastTimestamp,
    };
  }

  /** A `Writable` of records: values, or objects with `value`, `key` and `timestamp`. Its backpressure is the ring's. */
  writable(): Writable {
    const many = (records: readonly RecordInput[], done: (error?: Error | null) => void): void => {
      this.appendMany(records).then(() => done(), done);
    };
    return new Writable({
      objectMode: true,
      highWaterMark: WRITABLE_HIGH_WATER,
      write: (record: RecordInput, _encoding, done) => {
        many([record], done);
      },
      writev: (chunks, done) => {
        many(chunks.map(({ chunk }) => chunk as RecordInput), done);
      },
    });
  }

  /** A `Readable` of records. */
  readable(options: ReadOptions = {}): Readable {
    return Readable.from(this.read(options), { objectMode: true });
  }

  /** @internal Appends are refused from now on. */
  markDeleted(): void {
    this.#deleted = true;
  }

  async *#batches(options: ReadOptions): AsyncGenerator<RecordBatch> {
    this.#check();
    const from = await this.#resolve(options.from ?? 'first', options);
    const start = typeof from === 'number' ? from : from.offset;
    for await (const batch of readBatchesFrom(this.#context, this.#description, start, options)) {
      if (typeof from === 'number') {
        yield batch;
        continue;
      }
      const index = batch.indexOfTimestamp(from.timestamp);
      if (index < 0) continue;
      yield* this.#afterTimestamp(batch, index, options);
      return;
    }
  }

  /** Everything from the first record that matched on, later ones included whatever their timestamps. */
  async *#afterTimestamp(batch: RecordBatch, index: number, options: ReadOptions): AsyncGenerator<RecordBatch> {
    yield batch.rest(index);
    yield* readBatchesFrom(this.#context, this.#description, batch.nextOffset, options);
  }

  /** The offset to start at; with a timestamp, one at or before the first record that matches. */
  async #resolve(from: ReadFrom, options: ReadOptions): Promise<number | { offset: number; timestamp: number }> {
    const { streamId } = this.#description;
    const found = await this.#context.coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 });
    const next = Math.max(found.nextOffset, this.#context.durableNextOffset(streamId) ?? 0);
    if (from === 'first') return found.firstOffset;
    if (from === 'next') return next;
    if (from === 'last') return Math.max(found.firstOffset, next - 1);
    if (typeof from === 'number') {
      checkOffset(from);
      const assigned = Math.max(next, this.#state.nextOffset);
      if (from > assigned) throw this.#outOfRange(from, assigned);
      if (from < found.firstOffset && options.onTrimmed !== 'skip') throw this.#outOfRange(from, found.firstOffset);
      return from;
    }
    if ('reference' in from) {
      throw new MillraceError('ERR_MILLRACE_UNSUPPORTED', 'reading from a reference is not offered yet');
    }
    return this.#resolveTimestamp(from.timestamp, next);
  }

  async #resolveTimestamp(timestamp: number, next: number): Promise<number | { offset: number; timestamp: number }> {
    if (!Number.isFinite(timestamp)) {
      throw new MillraceError('ERR_MILLRACE_INVALID_ARGUMENT', `timestamp ${timestamp} is not a number of milliseconds`);
    }
    const { streamId } = this.#description;
    const unflushed = this.#context.unflushed.firstOffset(streamId);
    const inRuns = await this.#context.coordinator.listOffsets(streamId, timestamp);
    const offset = inRuns ?? unflushed ?? next;
    return { offset, timestamp };
  }

  #outOfRange(offset: number, bound: number): MillraceError {
    return new MillraceError(
      'ERR_MILLRACE_OFFSET_OUT_OF_RANGE',
      `${this.name}: offset ${offset} is ${offset > bound ? 'beyond the end' : 'below the start'}, which is ${bound}`,
      { details: { stream: this.name, offset, bound } },
    );
  }

  #writer(): Lane {
    this.#check();
    return this.#context.writer();
  }

  #check(): void {
    this.#context.check();
    if (!this.#deleted) return;
    throw new MillraceError('ERR_MILLRACE_STREAM_NOT_FOUND', `${this.name} was deleted: ask the store for it again`, {
      details: { stream: this.name },
    });
  }
}

function checkOffset(offset: number): void {
  if (Number.isSafeInteger(offset) && offset >= 0) return;
  throw new MillraceError('ERR_MILLRACE_OFFSET_OUT_OF_RANGE', `offset ${offset} is not a whole number from 0 on`);
}

function checkLimit(limit: number): void {
  if (limit === Infinity || (Number.isSafeInteger(limit) && limit >= 0)) return;
  throw new MillraceError('ERR_MILLRACE_INVALID_ARGUMENT', `limit ${limit} is not a whole number from 0 on`);
}
