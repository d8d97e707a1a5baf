/** Looks at a running load test again and again. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Store } from '../../store/store.ts';
import type { Follower } from './follower.ts';
import { TimeHistogram } from './histogram.ts';
import { recordsDue, type Segment } from './profile.ts';
import type { LoadSample } from './result.ts';
import type { Sender, SenderCounts } from './sender.ts';
import { preciseNow } from './stamp.ts';

const MILLISECONDS = 1_000;
const NANOSECONDS_PER_MILLISECOND = 1e6;
const MICROSECONDS_PER_SECOND = 1e6;

export interface SampledParts {
  readonly store: Store;
  readonly senders: readonly Sender[];
  readonly followers: readonly Follower[];
  /** What all senders together are to send. */
  readonly segments: readonly Segment[];
  /** Of `preciseNow`. */
  readonly start: number;
}

/** All that was counted, over the whole test. */
export interface Totals {
  sent: number;
  acknowledged: number;
  received: number;
  readonly failed: Map<string, number>;
  readonly latency: TimeHistogram;
  readonly endToEnd: TimeHistogram;
  readonly lateness: TimeHistogram;
  peakResidentBytes: number;
}

export class Sampler {
  readonly samples: LoadSample[] = [];
  readonly totals: Totals = {
    sent: 0,
    acknowledged: 0,
    received: 0,
    failed: new Map(),
    latency: new TimeHistogram(),
    endToEnd: new TimeHistogram(),
    lateness: new TimeHistogram(),
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
    const counts = senders.map((sender) => sender.takeCounts());
    const sum = (of: (counts: SenderCounts) => number): number => counts.reduce((total, part) => total + of(part), 0);
    const latency = merged(counts.map((part) => part.latency));
    const lateness = merged(counts.map((part) => part.lateness));
    const endToEnd = merged(followers.map((follower) => follower.takeLatency()));
    const [sent, acknowledged, received] = [sum((part) => part.sent), sum((part) => part.acknowledged), endToEnd.count];
    this.#add({ counts, sent, acknowledged, received, latency, lateness, endToEnd });
    const sample = {
      seconds: (now - start) / MILLISECONDS,
      dueRate: this.#due(now) / span,
      acknowledgedRate: acknowledged / span,
      receivedRate: received / span,
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

  #add(part: {
    readonly counts: readonly SenderCounts[];
    readonly sent: number;
    readonly acknowledged: number;
    readonly received: number;
    readonly latency: TimeHistogram;
    readonly lateness: TimeHistogram;
    readonly endToEnd: TimeHistogram;
  }): void {
    const { totals } = this;
    totals.sent += part.sent;
    totals.acknowledged += part.acknowledged;
    totals.received += part.received;
    totals.latency.add(part.latency);
    totals.lateness.add(part.lateness);
    totals.endToEnd.add(part.endToEnd);
    for (const { failed } of part.counts) {
      for (const [code, count] of failed) totals.failed.set(code, (totals.failed.get(code) ?? 0) + count);
    }
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
