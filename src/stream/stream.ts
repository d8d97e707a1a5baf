/** A stream as users hold it. */
import { Readable, type Writable } from 'node:stream';
import { assert } from '../base/assert.ts';
import { READ_COST } from '../base/loop-share.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { unlessAborted } from '../errors/aborted.ts';
import { flag, invalid, shown } from '../errors/argument-checks.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { checkOptionNames } from '../errors/option-names.ts';
import type { PackedValues } from '../record/packed-values.ts';
import type { RecordBatch, StreamRecord } from '../record/record-batch.ts';
import { findRecord } from '../record/record-find.ts';
import {
  type AppendOptions,
  checkAppendOptions,
  keyBytes,
  type RecordInput,
  type RecordValue,
} from '../record/record-input.ts';
import type { StreamConfig, StreamDescription } from '../record/stream-config.ts';
import { type BatchSource, type CursorStart, type Halt, readBatchesFrom } from './batch-cursor.ts';
import { BatchIterator } from './batch-iterator.ts';
import type { WritableStreamState } from './frame-appender.ts';
import type { Lane } from './lane.ts';
import { LostObjects } from './lost-objects.ts';
import {
  type BatchReadOptions,
  checkBatchReadOptions,
  checkReadOptions,
  type ReadFrom,
  type ReadOptions,
} from './read-options.ts';
import type { AppendControl } from './append-control.ts';
import { JsonStream } from './json-stream.ts';
import { RecordIterator } from './record-iterator.ts';
import { RecordWritable } from './record-writable.ts';
import { Publisher } from './publisher.ts';
import { checkReference } from './reference.ts';
import type { SegmentAccess } from './segment-access.ts';
import { type InfoSource, type StoredEnd, streamInfo, type StreamInfo } from './stream-info.ts';
import { configOf, type StreamOptions } from './stream-options.ts';
import type { StreamReferences } from './stream-references.ts';
import { loadTracking } from './tracking-loader.ts';

/** What a store lends its streams. */
export interface StreamContext extends BatchSource, InfoSource {
  readonly coordinator: Coordinator;
  readonly segments: SegmentAccess;
  /** The writing side; throws a coded error when the store takes no appends. */
  writer(): Lane;
  /** As `writer`, for appends to a stream: throws also when another lane has it. */
  laneFor(streamId: number): Lane;
  /**
   * This process assigns the offsets of its streams at the append. Otherwise the coordinator does at the commit, and it
   * alone knows where a stream ends.
   */
  readonly assignsOffsets: boolean;
  /** Takes in what another thread has made durable of a stream. */
  look(streamId: number): void;
  /** Moves the log start up to `beforeOffset`, which has been appended. */
  trim(streamId: number, beforeOffset: number): Promise<void>;
  /** Runs `work` while no log start moves. */
  whileUntrimmed<T>(work: () => Promise<T>): Promise<T>;
  /** A stream's config has changed. */
  configured(stream: StreamDescription): void;
  /** A stream goes on there. */
  truncated(streamId: number, end: StoredEnd): void;
  /** A stream was deleted. */
  deleted(streamId: number): void;
}

/** A consumer that has stored an offset. */
export interface ConsumerOffset {
  /** The name that it stores its offset under. */
  readonly reference: string;
  /** The last record that it is done with. */
  readonly offset: number;
  /** Durable records behind the offset. */
  readonly lag: number;
}

const STORE_OPTIONS: ReadonlySet<string> = new Set(['durable']);
const TRUNCATE_OPTIONS: ReadonlySet<string> = new Set(['after']);
const APPEND_MANY_OPTIONS: ReadonlySet<string> = new Set(['signal']);

/**
 * A stream of an open store, by `store.stream(name)`: one handle for all who ask. Methods that write reject with
 * `ERR_MILLRACE_READ_ONLY` in a read-only store; all reject with `ERR_MILLRACE_CLOSED` once the store is closed, and
 * with `ERR_MILLRACE_STREAM_NOT_FOUND` once the stream is deleted.
 */
export class Stream {
  #description: StreamDescription;
  readonly #state: WritableStreamState;
  readonly #context: StreamContext;
  /** Absent in a read-only store. */
  readonly #references: StreamReferences | undefined;
  readonly #publishers = new Map<string, Publisher>();
  /** Where the stream ended when the coordinator was last asked: it ends there or later. */
  #committedEnd = 0;
  #deleted = false;

  /** @internal */
  constructor(
    description: StreamDescription,
    state: WritableStreamState,
    context: StreamContext,
    references: StreamReferences | undefined,
  ) {
    this.#description = description;
    this.#state = state;
    this.#context = context;
    this.#references = references;
  }

  /** Its name, unique in the store. */
  get name(): string {
    return this.#description.name;
  }

  /** Its settings now. */
  get config(): StreamConfig {
    return this.#description.config;
  }

  /**
   * Appends one record. Resolves with its offset once it is durable. Bytes are copied before the call returns, unless
   * the ring is full: do not change them until the promise settles.
   */
  append(value: RecordValue, options?: AppendOptions & AppendControl): Promise<number> {
    try {
      const lane = this.#lane();
      checkAppendOptions(options);
      if (options?.signal !== undefined) {
        const { signal, ...rest } = options;
        return unlessAborted(signal, () => this.append(value, rest));
      }
      return lane.append(this.#state, value, options === undefined ? null : keyBytes(options.key), options?.timestamp);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Appends many records with consecutive offsets. Resolves with the first offset once all are durable. After a crash
   * all or none are there when they take less than 1 MiB; of more, a prefix may be. Waits for room however full the
   * ring is.
   */
  appendMany(records: readonly RecordInput[], options?: AppendControl): Promise<number> {
    try {
      if (options !== undefined) {
        checkOptionNames(options, APPEND_MANY_OPTIONS, 'appendMany');
        return unlessAborted(options.signal, () => this.appendMany(records));
      }
      return this.appendOrThrow(records);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * @internal As `appendMany`, but throws when it is refused. The memory of packed values may be used again when the
   * call returns.
   */
  appendOrThrow(records: readonly RecordInput[] | PackedValues): Promise<number> {
    return this.#lane().appendMany(this.#state, records);
  }

  /** Reads record by record. Errors end the iteration; see `ReadOptions`. */
  read(options: ReadOptions = {}): AsyncIterableIterator<StreamRecord> {
    checkReadOptions(options);
    return new RecordIterator(this.#iterate(options), options.signal);
  }

  /** Reads batch by batch: the fast path. Values are views that keep their batch in memory; see `reuse`. */
  readBatches(options: BatchReadOptions = {}): AsyncGenerator<RecordBatch, undefined> {
    checkBatchReadOptions(options);
    return this.#iterate(options);
  }

  #iterate(options: BatchReadOptions): BatchIterator {
    return new BatchIterator((halt) => this.#batches(options, halt), options.limit ?? Infinity);
  }

  /** The record at `offset`; `undefined` when there is none, or not durably yet. */
  async get(offset: number): Promise<StreamRecord | undefined> {
    checkOffset(offset);
    const lostObjects = new LostObjects(this.#context.coordinator);
    await this.#context.loopShare.pause(READ_COST);
    for (;;) {
      this.#check();
      try {
        return await this.#find(offset);
      } catch (error) {
        await lostObjects.lookAgain(error);
      }
    }
  }

  async #find(offset: number): Promise<StreamRecord | undefined> {
    const { streamId } = this.#description;
    const { unflushed, coordinator, segments } = this.#context;
    const inMemory = unflushed.firstOffset(streamId);
    if (inMemory !== undefined && offset >= inMemory) {
      const frames = unflushed.read(streamId, offset, 1);
      if (frames === undefined) return undefined;
      return findRecord(frames, { name: `the memtable of ${this.name}`, baseOffset: 0 }, offset);
    }
    const found = await coordinator.findRuns(streamId, offset, { maxRuns: 1, maxBytes: 1 });
    if (offset < found.firstOffset) return undefined;
    const [run] = found.runs;
    if (run === undefined) return this.#flushedMeanwhile(offset, found);
    if (offset >= Math.min(run.endOffset, unflushed.voidFrom(streamId, found.epoch))) return undefined;
    return segments.find(run, offset);
  }

  /**
   * A flush between the two lookups moves a record from where it was looked for first to where it was looked for last.
   */
  #flushedMeanwhile(offset: number, stored: StoredEnd): Promise<StreamRecord | undefined> | undefined {
    const durable = this.#context.durableNextOffset(this.#description.streamId, stored);
    return offset < durable ? this.get(offset) : undefined;
  }

  /** Removes the records below `beforeOffset`. They are unreadable at once; their bytes go with compaction. */
  async trim(beforeOffset: number): Promise<void> {
    checkOffset(beforeOffset);
    this.#writer();
    const end = await this.#endBeyond(beforeOffset - 1);
    if (beforeOffset > end) throw this.#outOfRange(beforeOffset, end);
    await this.#context.trim(this.#description.streamId, beforeOffset);
  }

  /**
   * Ends the stream behind `after` (-1 empties it): later appends take the offsets that follow, under a higher epoch
   * that their records carry. For those who keep a Raft log. Readers that have delivered cut records get
   * `ERR_MILLRACE_STREAM_TRUNCATED`. Resolves when durable: appends that are to follow it wait for that.
   */
  async truncate(options: { readonly after: number }): Promise<void> {
    this.#writer();
    checkOptionNames(options, TRUNCATE_OPTIONS, 'truncate');
    if (!this.#context.assignsOffsets) throw cannotTruncate(this.name);
    // Anything else would be taken for an offset by the addition.
    if (!Number.isSafeInteger(options.after)) checkOffset(options.after);
    const nextOffset = options.after + 1;
    checkOffset(nextOffset);
    await this.#context.whileUntrimmed(() => this.#truncate(nextOffset));
  }

  async #truncate(nextOffset: number): Promise<void> {
    const { streamId } = this.#description;
    const { firstOffset } = await this.#context.coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 });
    if (nextOffset < firstOffset) throw this.#outOfRange(nextOffset, firstOffset);
    const forget = [...this.#publishers.values()].map((publisher) => publisher.claimsToForget());
    await this.#lane().truncate(this.#state, nextOffset, (epoch) => {
      this.#context.truncated(streamId, { nextOffset, epoch });
      this.#references?.cut(nextOffset, firstOffset);
      for (const forgetClaims of forget) forgetClaims();
    });
  }

  /**
   * Stores how far a consumer has come: the offset of the last record it is done with. Stored offsets gather in memory
   * and become durable after `tracking.maxInterval` at the latest; with `durable` before the promise resolves. May go
   * backwards.
   */
  async storeOffset(reference: string, offset: number, options: { readonly durable?: boolean } = {}): Promise<void> {
    const references = this.#requireReferences();
    checkOptionNames(options, STORE_OPTIONS, 'storeOffset');
    const durable = flag('durable', options.durable);
    checkReference(reference);
    checkOffset(offset);
    const end = this.#context.assignsOffsets ? this.#assignedEnd(offset) : await this.#endBeyond(offset);
    if (offset >= end) throw this.#outOfRange(offset, end - 1);
    await references.store(reference, offset, durable);
  }

  /** The offset stored for a consumer; `undefined` when there is none. */
  async queryOffset(reference: string): Promise<number | undefined> {
    this.#check();
    checkReference(reference);
    if (this.#references !== undefined) return this.#references.offset(reference);
    return (await this.#storedOffsets()).get(reference);
  }

  /** Forgets a consumer. Returns false when there is none of that name. */
  async deleteOffset(reference: string, options: { readonly durable?: boolean } = {}): Promise<boolean> {
    const references = this.#requireReferences();
    checkOptionNames(options, STORE_OPTIONS, 'deleteOffset');
    const durable = flag('durable', options.durable);
    checkReference(reference);
    if ((await references.offset(reference)) === undefined) return false;
    await references.store(reference, undefined, durable);
    return true;
  }

  /** All consumers with their offsets and how far they are behind, by reference. */
  async offsets(): Promise<ConsumerOffset[]> {
    this.#check();
    const { streamId } = this.#description;
    const stored = await this.#context.coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 });
    const durable = this.#context.durableNextOffset(streamId, stored);
    const offsets = (await this.#references?.offsets()) ?? (await this.#storedOffsets());
    return [...offsets]
      .map(([reference, offset]) => ({ reference, offset, lag: Math.max(0, durable - offset - 1) }))
      .sort((left, right) => (left.reference < right.reference ? -1 : 1));
  }

  /** The publisher of that name: appends through it are taken once each. One object a reference and stream. */
  publisher(reference: string): Publisher {
    this.#check();
    checkReference(reference);
    let publisher = this.#publishers.get(reference);
    if (publisher === undefined) {
      publisher = new Publisher(reference, {
        stream: this.#state,
        lane: () => this.#lane(),
        references: () => {
          // Whoever was told by a producer in another thread may ask before this thread was woken.
          this.#context.look(this.#state.streamId);
          return this.#requireReferences();
        },
      });
      this.#publishers.set(reference, publisher);
    }
    return publisher;
  }

  /** Changes the options given and keeps the others. */
  async configure(options: StreamOptions): Promise<void> {
    this.#writer();
    const config = configOf(options, this.#description.config);
    this.#description = await this.#context.coordinator.configureStream(this.#description.streamId, config);
    this.#context.configured(this.#description);
  }

  /** @internal Takes over what another process has set. */
  reconfigured(description: StreamDescription): void {
    if (JSON.stringify(description.config) === JSON.stringify(this.config)) return;
    this.#description = description;
    this.#context.configured(description);
  }

  /** Counts of the stream, exact at any moment. */
  async info(): Promise<StreamInfo> {
    this.#check();
    const assigned = this.#context.assignsOffsets ? this.#state : { nextOffset: 0, epoch: 0 };
    return streamInfo(this.#context, this.#description, assigned);
  }

  /**
   * A `Writable` of records: values, or objects with `value`, `key` and `timestamp`. Its backpressure is the ring's.
   */
  writable(): Writable {
    return new RecordWritable((records) => this.appendMany(records));
  }

  /**
   * The stream as one of JSON values of type `T`. A view: records that go through it and records that do not are of one
   * stream.
   */
  json<T = unknown>(): JsonStream<T> {
    return new JsonStream(this);
  }

  /** A `Readable` of records. */
  readable(options: ReadOptions = {}): Readable {
    return Readable.from(this.read(options), { objectMode: true });
  }

  /** @internal Appends are refused from now on. */
  markDeleted(): void {
    this.#deleted = true;
  }

  async *#batches(options: BatchReadOptions, halt: Halt): AsyncGenerator<RecordBatch> {
    this.#check();
    const { streamId } = this.#description;
    const { unflushed } = this.#context;
    let place: Pick<CursorStart, 'offset' | 'epoch' | 'timestamp'>;
    let before: number;
    // Where to start is put together of several answers: a truncation between two of them may have voided the first.
    do {
      before = unflushed.truncations(streamId, Infinity).count;
      place = await this.#resolve(options.from ?? 'first', options);
    } while (unflushed.truncations(streamId, Infinity).count !== before);
    // Whoever named an offset wants that one; others want to start where the stream does by now.
    const start = { ...place, exact: typeof options.from === 'number' };
    yield* readBatchesFrom(this.#context, this.#description, start, options, halt);
  }

  /** Where to start; with a timestamp, at or before the first record that matches. */
  async #resolve(from: ReadFrom, options: ReadOptions): Promise<Pick<CursorStart, 'offset' | 'epoch' | 'timestamp'>> {
    const { streamId } = this.#description;
    const found = await this.#context.coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 });
    const next = this.#context.durableNextOffset(streamId, found);
    // Whoever truncates knows more of it than segments do.
    const epoch = this.#context.assignsOffsets ? Math.max(found.epoch, this.#state.epoch) : found.epoch;
    if (from === 'first') return { offset: found.firstOffset, epoch };
    if (from === 'next') return { offset: next, epoch };
    if (from === 'last') return { offset: Math.max(found.firstOffset, next - 1), epoch };
    if (typeof from === 'number') {
      checkOffset(from);
      const assigned = this.#context.assignsOffsets ? Math.max(next, this.#state.nextOffset) : next;
      if (from > assigned) throw this.#outOfRange(from, assigned);
      if (from < found.firstOffset && options.onTrimmed !== 'skip') throw this.#outOfRange(from, found.firstOffset);
      return { offset: from, epoch };
    }
    if ('reference' in from) {
      const stored = await this.queryOffset(from.reference);
      return { offset: stored === undefined ? found.firstOffset : Math.min(next, stored + 1), epoch };
    }
    const unflushed = this.#context.unflushed.firstOffset(streamId);
    const inRuns = await this.#context.coordinator.listOffsets(streamId, from.timestamp);
    // Records that a truncation in the ring has voided may be the first that segments know of.
    const voidFrom = this.#context.unflushed.voidFrom(streamId, found.epoch);
    const offset = Math.min(inRuns ?? unflushed ?? next, voidFrom);
    return { offset, epoch, timestamp: from.timestamp };
  }

  /** Of a read-only store: what the log or the coordinator says. */
  async #storedOffsets(): Promise<ReadonlyMap<string, number>> {
    const { coordinator, segments } = this.#context;
    const { streamId } = this.#description;
    const { offsets } = (await loadTracking(coordinator, segments, streamId, [])).state;
    // A store without a WAL has no tracking in its log, and one with a WAL has none with the coordinator.
    return offsets.size > 0 ? offsets : coordinator.trackedOffsets(streamId);
  }

  /** Throws what appends would: an offset stored now could never become durable. */
  #requireReferences(): StreamReferences {
    const { failure } = this.#writer();
    if (failure !== undefined) throw failure;
    assert(this.#references !== undefined, 'a writable stream has references');
    return this.#references;
  }

  /** Whoever was told of a record by a producer in another thread may be here before this thread was woken. */
  #assignedEnd(offset: number): number {
    if (offset >= this.#state.nextOffset) this.#context.look(this.#state.streamId);
    return this.#state.nextOffset;
  }

  /** Where the stream ends, asked anew unless that is known to be behind `offset`. */
  async #endBeyond(offset: number): Promise<number> {
    if (this.#context.assignsOffsets) return this.#assignedEnd(offset);
    if (this.#committedEnd <= offset) {
      const { streamId } = this.#description;
      const found = await this.#context.coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 });
      this.#committedEnd = Math.max(this.#committedEnd, found.nextOffset);
    }
    return this.#committedEnd;
  }

  #outOfRange(offset: number, bound: number): MillraceError {
    return new MillraceError(
      'ERR_MILLRACE_OFFSET_OUT_OF_RANGE',
      `${this.name}: offset ${offset} is ${offset > bound ? 'beyond the end' : 'below the start'}, which is ${bound}`,
      { details: { stream: this.name, offset, bound } },
    );
  }

  #lane(): Lane {
    this.#check();
    return this.#context.laneFor(this.#state.streamId);
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

function cannotTruncate(name: string): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_UNSUPPORTED',
    `${name}: a store without a WAL cannot truncate, for others may have read and appended: trim it, or delete it`,
    { details: { stream: name } },
  );
}

function checkOffset(offset: number): void {
  if (Number.isSafeInteger(offset) && offset >= 0) return;
  const message = `offset ${shown(offset)} is not a whole number from 0 on`;
  if (typeof offset !== 'number') throw invalid(message);
  throw new MillraceError('ERR_MILLRACE_OFFSET_OUT_OF_RANGE', message);
}
