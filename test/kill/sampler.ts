/** What a process at work tells of itself once a second. */
import { readdirSync } from 'node:fs';
import { isMillraceError, type Store } from '../../src/index.ts';
import { collectGarbage } from '../support/garbage.ts';
import { LATENCY_BOUNDS, quantileOf } from '../../src/metrics/latency-histogram.ts';

export interface Sample {
  readonly type: 'sample';
  /** Seconds since its store was open. */
  readonly age: number;
  readonly residentBytes: number;
  /** Behind a collection: what is live. */
  readonly heapBytes: number;
  readonly descriptors: number;
  /** Of the appends that ended since the last sample, in milliseconds; absent without any. */
  readonly p50?: number;
  readonly p99?: number;
  /** Records that the store's own thread appended since the last sample. */
  readonly appended: number;
  /** Slots that hold records which are in no segment yet, of those of all rings. */
  readonly slotsInUse: number;
  readonly slots: number;
  /** Live objects, and those that wait for deletion. */
  readonly objects: number;
  readonly deletingObjects: number;
  /** Bytes of both that nobody needs. */
  readonly deadBytes: number;
  /** Where each stream begins. */
  readonly starts: Readonly<Record<string, number>>;
}

const INTERVAL = 1_000;
const NO_COUNTS: readonly number[] = LATENCY_BOUNDS.map(() => 0);

export class Sampler {
  readonly #store: Store;
  readonly #report: (sample: Sample) => void;
  readonly #openedAt: number = performance.now();
  readonly #timer: NodeJS.Timeout;
  #counts: readonly number[] = NO_COUNTS;
  #records = 0;
  #taking: Promise<void> | undefined;

  constructor(store: Store, report: (sample: Sample) => void) {
    this.#store = store;
    this.#report = report;
    this.#timer = setInterval(() => {
      // On a machine that stands still for a while, one may take longer.
      this.#taking ??= this.#take().finally(() => {
        this.#taking = undefined;
      });
    }, INTERVAL);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#taking;
  }

  async #starts(): Promise<Record<string, number>> {
    const starts: Record<string, number> = {};
    for (const { name } of await this.#store.streams()) {
      try {
        const stream = await this.#store.findStream(name);
        if (stream !== undefined) starts[name] = (await stream.info()).firstOffset;
      } catch (error) {
        // Deleted meanwhile.
        if (!isMillraceError(error, 'ERR_MILLRACE_STREAM_NOT_FOUND')) throw error;
      }
    }
    return starts;
  }

  async #take(): Promise<void> {
    const starts = await this.#starts();
    const { objects, ring, producers, appends } = this.#store.stats();
    const { counts } = appends?.latency ?? { counts: NO_COUNTS };
    const since = counts.map((count, bucket) => count - (this.#counts[bucket] ?? 0));
    this.#counts = counts;
    const records = appends?.records ?? 0;
    const appended = records - this.#records;
    this.#records = records;
    const [p50, p99] = [quantileOf(since, 0.5), quantileOf(since, 0.99)];
    const rings = [...(ring === undefined ? [] : [ring]), ...producers];
    collectGarbage();
    const { rss, heapUsed } = process.memoryUsage();
    this.#report({
      type: 'sample',
      age: (performance.now() - this.#openedAt) / 1_000,
      residentBytes: rss,
      heapBytes: heapUsed,
      descriptors: readdirSync('/proc/self/fd').length,
      ...(p50 === undefined || p99 === undefined ? {} : { p50, p99 }),
      appended,
      slotsInUse: rings.reduce((sum, { slotsInUse }) => sum + slotsInUse, 0),
      slots: rings.reduce((sum, { slots }) => sum + slots, 0),
      objects: objects.objects.committed,
      deletingObjects: objects.objects.deleting,
      deadBytes: objects.committedBytes - objects.liveBytes + objects.deletingBytes,
      starts,
    });
  }
}
