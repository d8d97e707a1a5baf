/** Takes figures of the store at an interval and keeps the last few minutes, so that a page has a past as it opens. */
import { quantileOf } from '../metrics/latency-histogram.ts';
import type { Store } from '../store/store.ts';

/** Milliseconds between samples. */
const SAMPLE_INTERVAL = 1_000;
const SAMPLES_MAX = 300;

/** What happened since the sample before. */
export interface ServerSample {
  /** Counts from 1: ask for those behind the last one that was seen. */
  readonly sequence: number;
  /** Milliseconds since the server began, and since the sample before. */
  readonly at: number;
  readonly interval: number;
  readonly records: number;
  readonly userBytes: number;
  /** Milliseconds; `null` when nothing was acknowledged. */
  readonly p50: number | null;
  readonly p99: number | null;
  readonly slotsInUse: number;
  readonly queuedBytes: number;
}

type Stats = ReturnType<Store['stats']>;

export class Sampler {
  readonly #store: Pick<Store, 'stats'>;
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #samples: ServerSample[] = [];
  #sequence = 0;
  #last: { readonly at: number; readonly appends: Stats['appends'] };
  #timer: NodeJS.Timeout | undefined;

  /** `now`: milliseconds on a clock that never goes back. */
  constructor(store: Pick<Store, 'stats'>, now: () => number) {
    this.#store = store;
    this.#now = now;
    this.#startedAt = now();
    this.#last = { at: this.#startedAt, appends: store.stats().appends };
  }

  start(): void {
    this.#timer = setInterval(() => {
      try {
        this.sample();
      } catch {
        // The store was closed before the server: there is nothing left to sample.
        this.stop();
      }
    }, SAMPLE_INTERVAL);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Milliseconds since the server began. */
  get uptime(): number {
    return this.#now() - this.#startedAt;
  }

  since(sequence: number): readonly ServerSample[] {
    return this.#samples.filter((sample) => sample.sequence > sequence);
  }

  /** Takes one now, whatever the timer says. */
  sample(): void {
    const at = this.#now();
    const { appends, ring } = this.#store.stats();
    const before = this.#last;
    this.#last = { at, appends };
    const counts = (appends?.latency.counts ?? []).map(
      (count, index) => count - (before.appends?.latency.counts[index] ?? 0),
    );
    this.#sequence += 1;
    this.#samples.push({
      sequence: this.#sequence,
      at: at - this.#startedAt,
      interval: at - before.at,
      records: (appends?.records ?? 0) - (before.appends?.records ?? 0),
      userBytes: (appends?.userBytes ?? 0) - (before.appends?.userBytes ?? 0),
      p50: quantileOf(counts, 0.5) ?? null,
      p99: quantileOf(counts, 0.99) ?? null,
      slotsInUse: ring?.slotsInUse ?? 0,
      queuedBytes: ring?.queuedBytes ?? 0,
    });
    if (this.#samples.length > SAMPLES_MAX) this.#samples.shift();
  }
}
