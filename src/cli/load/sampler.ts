/** Looks at a running load test again and again. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Store } from '../../store/store.ts';
import type { Follower } from './follower.ts';
import { TimeHistogram } from './histogram.ts';
import { recordsDue, type Segment } from './profile.ts';
import type { LoadSample } from './result.ts';
import { addCounts, type LoadSource, newCounts, type SenderCounts } from './sender.ts';
import { preciseNow } from './stamp.ts';

const MILLISECONDS = 1_000;
const NANOSECONDS_PER_MILLISECOND = 1e6;
const MICROSECONDS_PER_SECOND = 1e6;

export interface SampledParts {
  readonly store: Store;
  readonly senders: readonly LoadSource[];
  readonly followers: readonly Follower[];
  /** What all senders together are to send. */
  readonly segments: readonly Segment[];
  /** Of `preciseNow`. */
  readonly start: number;
}

/** All that was counted, over the whole test. */
export interface Totals extends SenderCounts {
  received: number;
  readonly endToEnd: TimeHistogram;
  peakResidentBytes: number;
}

export class Sampler {
  readonly samples: LoadSample[] = [];
  readonly totals: Totals = {
    ...newCounts(),
    received: 0,
    endToEnd: new TimeHistogram(),
    peakResidentBytes: 0,
  };
  readonly #parts: SampledParts;
  readonly #delay = monitorEventLoopDelay({ resolution: 5 });
  #at: number;
  #dueBefore = 0;
  #processor = process.cpuUsage();

  constructor(parts: SampledParts) {
    this.#parts = parts;
    this.#at = parts.start;
    this.#delay.enable();
  }

  /** Takes a sample of what happened since the last one. */
  take(): LoadSample {
    const now = preciseNow();
    const { start, followers, senders } = this.#parts;
    const span = (now - this.#at) / MILLISECONDS;
    this.#at = now;
    const counts = newCounts();
    for (const sender of senders) addCounts(counts, sender.takeCounts());
    const { acknowledged, latency } = counts;
    const endToEnd = merged(followers.map((follower) => follower.takeLatency()));
    addCounts(this.totals, counts);
    this.totals.received += endToEnd.count;
    this.totals.endToEnd.add(endToEnd);
    const sample = {
      seconds: (now - start) / MILLISECONDS,
      dueRate: this.#due(now) / span,
      acknowledgedRate: acknowledged / span,
      receivedRate: endToEnd.count / span,
      latency: latency.count === 0 ? undefined : latency.percentiles(),
      endToEnd: endToEnd.count === 0 ? undefined : endToEnd.percentiles(),
      inFlight: senders.reduce((total, { inFlight }) => total + inFlight, 0),
      ...this.#resources(span),
      ...this.#storeFigures(),
    };
    this.totals.peakResidentBytes = Math.max(this.totals.peakResidentBytes, sample.residentBytes);
    this.samples.push(sample);
    return sample;
  }

  /** Takes the last sample. */
  end(): void {
    this.take();
    this.#delay.disable();
  }

  /** Records that came due since the last sample. */
  #due(now: number): number {
    const due = recordsDue(this.#parts.segments, (now - this.#parts.start) / MILLISECONDS);
    const since = due - this.#dueBefore;
    this.#dueBefore = due;
    return since;
  }

  #resources(span: number): Pick<LoadSample, 'residentBytes' | 'heapBytes' | 'processors' | 'loopDelay'> {
    const { user, system } = process.cpuUsage(this.#processor);
    this.#processor = process.cpuUsage();
    const loopDelay = this.#delay.percentile(99) / NANOSECONDS_PER_MILLISECOND;
    this.#delay.reset();
    const { rss, heapUsed } = process.memoryUsage();
    return {
      residentBytes: rss,
      heapBytes: heapUsed,
      processors: (user + system) / MICROSECONDS_PER_SECOND / span,
      loopDelay: Number.isFinite(loopDelay) ? loopDelay : 0,
    };
  }

  #storeFigures(): StoreFigures {
    const { objects, ring, compaction } = this.#parts.store.stats();
    const jobs = Object.values(compaction?.jobs ?? {}).reduce((total, count) => total + count, 0);
    return {
      slotsInUse: ring?.slotsInUse ?? 0,
      queuedBytes: ring?.queuedBytes ?? 0,
      objects: objects.objects.committed,
      deletingObjects: objects.objects.deleting,
      deadBytes: objects.committedBytes - objects.liveBytes + objects.deletingBytes,
      compactionJobs: jobs,
      compactionRunning: compaction?.running ?? 0,
    };
  }
}

type StoreFigures = Pick<
  LoadSample,
  'slotsInUse' | 'queuedBytes' | 'objects' | 'deletingObjects' | 'deadBytes' | 'compactionJobs' | 'compactionRunning'
>;

function merged(parts: readonly TimeHistogram[]): TimeHistogram {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const sum = new TimeHistogram();
  for (const part of parts) sum.add(part);
  return sum;
}
