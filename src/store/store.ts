/** A store as users hold it. */
import { EventEmitter } from 'node:events';
import { SteadyTime } from '../base/clock.ts';
import { assert } from '../base/assert.ts';
import type { Announcer } from '../base/channels.ts';
import type { BackupOptions, BackupReport } from '../backup/backup.ts';
import type { CompactRequest, CompactSummary } from '../compaction/agent.ts';
import type { Coordinator, ObjectDescription, ObjectFilter } from '../coordinator/coordinator.ts';
import { unlessAborted } from '../errors/aborted.ts';
import { checkProgress, invalid } from '../errors/argument-checks.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { checkOptionNames } from '../errors/option-names.ts';
import type { StreamDescription } from '../record/stream-config.ts';
import { exposition } from '../metrics/exposition.ts';
import { Removals } from '../stream/removals.ts';
import { SegmentAccess } from '../stream/segment-access.ts';
import type { Stream } from '../stream/stream.ts';
import type { StreamOptions } from '../stream/stream-options.ts';
import { backUp } from './backup.ts';
import type { BackupTarget } from './backup-target.ts';
import { CatalogueGauge } from './catalogue-gauge.ts';
import { closeAll } from './closing.ts';
import { type DescribedObject, describeObject } from './describe-object.ts';
import { Janitor } from './janitor.ts';
import { checkObjectFilter } from './object-filter.ts';
import { OpenStreams } from './open-streams.ts';
import type { StoreParts } from './parts.ts';
import { metricsOf } from './metric-table.ts';
import { type OrphanOptions, type OrphanReport, removeOrphans } from './orphans.ts';
import { Refreshing } from './refreshing.ts';
import { type StoreStats, statsOf } from './stats.ts';
import { emitLater, emitMessages, type StoreEvents } from './store-events.ts';
import { streamContext } from './stream-context.ts';
import { Trimming } from './trimming.ts';
import { type VerifyOptions, verifyStore, type VerifyReport } from './verify.ts';
import type { ProducerHandle, ProducerOptions } from './producers/handle.ts';
import type { StoreWriter } from './store-writer.ts';

const FLUSH_OPTIONS: ReadonlySet<string> = new Set(['signal']);
const VERIFY_OPTIONS: ReadonlySet<string> = new Set(['signal', 'progress']);

/**
 * An open store; `open` makes it. Its events are `StoreEvents`. What is called after `close` is refused with
 * `ERR_MILLRACE_CLOSED`.
 */
export class Store extends EventEmitter<StoreEvents> implements AsyncDisposable {
  readonly #parts: StoreParts;
  readonly #gauge: CatalogueGauge;
  readonly #streams: OpenStreams;
  /** Absent in a read-only store, like the janitor. */
  readonly #trimming: Trimming | undefined;
  readonly #janitor: Janitor | undefined;
  /** What was found when orphans were last looked for. */
  #orphans: OrphanReport | undefined;
  readonly #steadyTime: SteadyTime;
  /** Where other processes write. */
  readonly #refreshing: Refreshing | undefined;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(parts: StoreParts) {
    super();
    this.#parts = parts;
    emitMessages(this, parts.announcer);
    this.#steadyTime = new SteadyTime(parts.clock);
    this.#gauge = new CatalogueGauge(parts.coordinator);
    this.#gauge.start(parts.timers);
    const segments = new SegmentAccess(parts.objects, parts.storeId, parts.settings.cacheBytes);
    const removals = new Removals();
    this.#trimming = parts.writer && trimmingOf(parts, parts.writer, removals);
    const context = streamContext(parts, segments, removals, {
      check: () => {
        this.#check();
        // Who writes meets what is wrong by writing, and an outage that passes must refuse no append.
        if (parts.writer === undefined) this.#refreshing?.check();
      },
      writer: () => this.#writer(),
      trimming: () => this.#requireTrimming(),
    });
    this.#streams = new OpenStreams(parts, segments, context);
    if (parts.writer?.producers !== undefined) {
      parts.writer.producers.openStream = async (name, options, take) => {
        this.#check();
        return this.#streams.hand(name, options, take);
      };
    }
    if (this.#trimming === undefined || parts.shared) {
      this.#refreshing = new Refreshing(parts.coordinator, parts.followers, removals, () =>
        this.#streams.takeOverConfigs(),
      );
      this.#refreshing.start(parts.timers);
    }
    if (this.#trimming !== undefined) {
      this.#janitor = new Janitor(parts.coordinator, parts.objects, this.#trimming, this.#steadyTime);
      this.#janitor.start(parts.timers);
      if (parts.settings.compactInBackground) parts.compaction?.start();
    }
  }

  /**
   * The stream of that name; a writable store makes it, with `options`, when there is none. An existing stream keeps
   * what `options` leave out and takes over what they give.
   */
  async stream(name: string, options: StreamOptions = {}): Promise<Stream> {
    this.#check();
    return this.#streams.open(name, options);
  }

  /** The stream of that name, as it is; `undefined` when there is none. */
  async findStream(name: string): Promise<Stream | undefined> {
    this.#check();
    return this.#streams.find(name);
  }

  /**
   * A lane of its own for another thread, which appends to streams that it holds for as long: send it with
   * `postMessage(handle, handle.transferList)`, and take it over there with `attachProducer(handle)`. Each takes a ring
   * of memory, and as much disk. `ERR_MILLRACE_UNSUPPORTED` without a WAL.
   */
  async producer(options: ProducerOptions = {}): Promise<ProducerHandle> {
    this.#check();
    const { producers } = this.#writer();
    if (producers !== undefined) return producers.create(options);
    throw new MillraceError('ERR_MILLRACE_UNSUPPORTED', 'a store without a WAL has no lanes for other threads');
  }

  /** All streams, by name. */
  async streams(): Promise<StreamDescription[]> {
    this.#check();
    const streams = await this.#parts.coordinator.streams();
    return streams.sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  /** Deletes a stream and its records. Returns false when there is none of that name. */
  async deleteStream(name: string): Promise<boolean> {
    this.#check();
    this.#writer();
    return this.#streams.delete(name);
  }

  /** Resolves when everything acknowledged so far is in segments. `signal` ends the waiting, not the flush. */
  async flush(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#check();
    checkOptionNames(options, FLUSH_OPTIONS, 'flush');
    const writer = this.#writer();
    await unlessAborted(options.signal, () => writer.flushAll());
    await this.#gauge.refresh();
  }

  /**
   * Runs compaction until nothing is due: retention, merges, key compaction, deadlines, deletion of what nobody reads
   * any more. `stream`: only objects that hold it. `force`: whatever their ages and ratios. `signal`: start no more
   * jobs.
   */
  async compact(request: CompactRequest = {}): Promise<CompactSummary> {
    this.#check();
    this.#writer();
    const { compaction } = this.#parts;
    assert(compaction !== undefined && this.#janitor !== undefined, 'a writable store compacts');
    await this.#janitor.round();
    const summary = await compaction.compact(request);
    await this.#janitor.round();
    await this.#gauge.refresh();
    return summary;
  }

  /** What the coordinator says of the store's objects, in the order of their keys. Default committed ones. */
  async objects(filter: ObjectFilter = {}): Promise<ObjectDescription[]> {
    this.#check();
    checkObjectFilter(filter);
    return this.#parts.coordinator.listObjects(filter);
  }

  /** Everything known of one object. `ERR_MILLRACE_OBJECT_NOT_FOUND` for a key that the coordinator does not know. */
  async describeObject(key: string): Promise<DescribedObject> {
    this.#check();
    return describeObject(this.#parts.coordinator, this.#parts.objects, key);
  }

  /**
   * Lists the object store for objects that the coordinator does not know, and deletes those old enough; with `dryRun`
   * it only reports, also in a read-only store. Costs a request for each thousand objects. Only a search for what
   * should not be there: what compaction replaces is deleted without it.
   */
  async removeOrphans(options: OrphanOptions = {}): Promise<OrphanReport> {
    this.#check();
    if ((options as OrphanOptions | null)?.dryRun !== true) this.#writer();
    const { coordinator, objects, storeId } = this.#parts;
    this.#orphans = await removeOrphans({ coordinator, objects, storeId, time: this.#steadyTime }, options);
    return this.#orphans;
  }

  /** Starts no compaction job in the background until `resumeCompaction`; running ones go on, and so does `compact`. */
  pauseCompaction(): void {
    this.#writer();
    this.#parts.compaction?.pause();
  }

  /** Ends `pauseCompaction`. */
  resumeCompaction(): void {
    this.#writer();
    this.#parts.compaction?.resume();
  }

  /**
   * Pauses compaction in the background of every process that has the store open or opens it later, or ends that. The
   * processes hear of it when they next look for work, `compaction.interval` (10 s) later at most; jobs that run go on,
   * and so does `compact`. Also from a read-only store. Kept until it is changed.
   */
  async setCompactionPaused(paused: boolean): Promise<void> {
    this.#check();
    if (typeof paused !== 'boolean') throw invalid('setCompactionPaused takes true or false');
    return this.#parts.coordinator.setCompactionPaused(paused);
  }

  /** Whether compaction is paused for all processes. */
  compactionPaused(): Promise<boolean> {
    this.#check();
    return this.#parts.coordinator.compactionPaused();
  }

  /**
   * Takes a backup into a directory or an object store, of everything acknowledged before the call, while appends go
   * on. Only segments that the target lacks are copied, with their checksums verified. It is there whole or not at all;
   * a failed one leaves what it copied to the next. One at a time into a target. Read-only, it holds what is in
   * segments. `ERR_MILLRACE_FOREIGN_FILE`: the target is another store's. `ERR_MILLRACE_UNSUPPORTED`: a service keeps
   * the metadata.
   */
  async backup(target: BackupTarget, options: BackupOptions = {}): Promise<BackupReport> {
    this.#check();
    const { writer, coordinator, backupSource } = this.#parts;
    if (writer === undefined) await coordinator.refresh();
    else await this.flush();
    const release = await this.#janitor?.hold();
    try {
      return await backUp(backupSource, target, options);
    } finally {
      release?.();
    }
  }

  /** Checks every invariant, and every byte of every segment against its checksums. */
  async verify(options: VerifyOptions | VerifyOptions['progress'] = {}): Promise<VerifyReport> {
    this.#check();
    const given = typeof options === 'function' ? { progress: options } : options;
    checkOptionNames(given, VERIFY_OPTIONS, 'verify');
    checkProgress(given);
    return verifyStore(this.#parts.coordinator, this.#parts.objects, this.#parts.storeId, given);
  }

  /**
   * Counters and gauges as plain data. `objects` is as old as a second at most; `flush` and `compact` bring it up to
   * date.
   */
  stats(): StoreStats {
    this.#check();
    const housekeeping = this.#janitor?.counters;
    return statsOf(this.#parts, { objects: this.#gauge.latest, housekeeping, orphans: this.#orphans });
  }

  /** The same in the Prometheus text format. */
  metrics(): string {
    return exposition(metricsOf(this.stats()));
  }

  /** @internal Resolves when the store can answer everything at once. */
  async ready(): Promise<this> {
    await this.#gauge.refresh();
    return this;
  }

  /**
   * Flushes, releases everything, and lets another process in. Appends still waiting are made durable first. With a
   * WAL, an object store that cannot be reached holds nothing up: what the WAL holds is flushed by the next opening,
   * and appends that found no room in it are refused with `ERR_MILLRACE_UNAVAILABLE`. Without one, closing waits for
   * it.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** As `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { writer, coordinator, objects, lock, closePool, followers } = this.#parts;
    this.#refreshing?.stop();
    this.#gauge.stop();
    followers.wakeAll();
    // A disk that has failed is left alone.
    const isSound = writer?.lane.failure === undefined;
    const closing = closeAll([
      // First: the others may be waiting for the flush.
      async () => writer?.close(),
      async () => this.#parts.compaction?.stop(),
      async () => this.#janitor?.stop(isSound),
      closePool,
      () => coordinator.close(),
      () => objects.close(),
      async () => lock?.release(),
    ]);
    await closing.finally(() => emitLater(this, 'close'));
  }

  #check(): void {
    if (this.#closing !== undefined) throw new MillraceError('ERR_MILLRACE_CLOSED', 'the store was closed');
  }

  #requireTrimming(): Trimming {
    this.#writer();
    assert(this.#trimming !== undefined, 'a writable store trims');
    return this.#trimming;
  }

  #writer(): StoreWriter {
    const { writer } = this.#parts;
    if (writer === undefined) {
      throw new MillraceError('ERR_MILLRACE_READ_ONLY', 'the store was opened with `readOnly: true`');
    }
    return writer;
  }
}

/** Every commit may have brought more than retention keeps. */
function trimmingOf(parts: StoreParts, writer: StoreWriter, removals: Removals): Trimming {
  const { announcer, coordinator, clock, shared } = parts;
  const trimming = new Trimming({
    coordinator,
    clock,
    hasTruncations: (streamId) => writer.lane.memtable.hasTruncations(streamId),
    flush: () => writer.flushAll(),
    trimmed: async (streamId, firstOffset, moved) => {
      if (moved) removals.happened();
      await writer.trackers.trimmed(streamId, firstOffset);
      if (moved && announcer.isHeard('trim')) await tellTrim(announcer, coordinator, streamId, firstOffset);
    },
  });
  // Looking after all streams at each commit of each process is too much: there the janitors do.
  if (shared) return trimming;
  writer.onCommitted = () => {
    // What fails now is tried again by the janitor.
    trimming.enforce().catch(() => undefined);
  };
  return trimming;
}

/** Whatever becomes of it, the log start has moved. A stream that was deleted meanwhile has no name any more. */
async function tellTrim(
  announcer: Announcer,
  coordinator: Coordinator,
  streamId: number,
  firstOffset: number,
): Promise<void> {
  const streams = await coordinator.streams().catch(() => []);
  const stream = streams.find((known) => known.streamId === streamId)?.name;
  if (stream !== undefined) announcer.tell('trim', () => ({ stream, firstOffset }));
}
