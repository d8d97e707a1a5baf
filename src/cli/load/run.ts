/** Runs a load test on a store: streams, followers, senders and samples, from the first record to the last answer. */
import { setTimeout as sleep } from 'node:timers/promises';
import { open } from '../engine.ts';
import type { CompactionOptions } from '../../compaction/settings.ts';
import type { OpenOptions } from '../../store/options.ts';
import type { Store } from '../../store/store.ts';
import type { Stream } from '../../stream/stream.ts';
import { throwIfAborted } from '../../errors/aborted.ts';
import { MillraceError } from '../../errors/millrace-error.ts';
import { machineFacts } from '../machine.ts';
import { Follower } from './follower.ts';
import { type Segment, segmentsOf } from './profile.ts';
import { LOAD_RESULT_VERSION, type LoadResult, type LoadSample } from './result.ts';
import { Sampler } from './sampler.ts';
import type { LoadSource } from './sender.ts';
import { type Sending, startHere, startThreads } from './sending.ts';
import type { LoadSettings } from './settings.ts';
import { preciseNow } from './stamp.ts';
import { STREAM_PREFIX, streamName } from './targets.ts';

/** Samples of a test, and the least time between two. */
const SAMPLES = 240;
const SAMPLE_INTERVAL_MIN = 250;
const MILLISECONDS = 1_000;
const MICROSECONDS_PER_SECOND = 1e6;
/** From the last thing that is opened to the first record. */
const LEAD = 50;
/** How long followers may take to read the rest. */
const FOLLOW_LIMIT = 30_000;
const FOLLOW_POLL = 5;

const EAGER_COMPACTION: CompactionOptions = {
  interval: 500,
  minFirstGenerationAge: 1_000,
  maxFirstGenerationAge: 3_000,
  deleteGrace: 2_000,
};

export interface LoadObserver {
  /** How the test is repeated. */
  readonly command: string;
  readonly signal: AbortSignal;
  /** `records`: acknowledged since the sample before. */
  sampled(sample: LoadSample, records: number): void;
}

/** Makes the store where there is none. An aborted test ends early, with what it found until then. */
export async function runLoad(settings: LoadSettings, observer: LoadObserver): Promise<LoadResult> {
  const { dir } = settings;
  const store = await open(openOptionsOf(settings));
  try {
    await refuseOthers(store, dir);
    return await test(store, settings, observer);
  } finally {
    await store.close();
  }
}

function openOptionsOf({ dir, eagerCompaction, slots, slotBytes }: LoadSettings): OpenOptions {
  const wal = { ...(slots === undefined ? {} : { slots }), ...(slotBytes === undefined ? {} : { slotBytes }) };
  return { dir, wal, ...(eagerCompaction ? { compaction: EAGER_COMPACTION } : {}) };
}

/** A mistyped path must not fill somebody's store with records that say nothing. */
async function refuseOthers(store: Store, dir: string): Promise<void> {
  const other = (await store.streams()).find(({ name }) => !name.startsWith(STREAM_PREFIX));
  if (other === undefined) return;
  throw new MillraceError(
    'ERR_MILLRACE_INVALID_ARGUMENT',
    `${dir} holds the stream ${JSON.stringify(other.name)}, which is of no load test: name another directory`,
  );
}

async function test(store: Store, settings: LoadSettings, observer: LoadObserver): Promise<LoadResult> {
  const startedAt = new Date().toISOString();
  const streams = await openStreams(store, settings);
  const followers = await Promise.all(
    Array.from({ length: settings.followers }, (_, index) => Follower.start(streams[index % streams.length] as Stream)),
  );
  const segments = segmentsOf(settings);
  const sending = await (settings.threads === 0
    ? startHere(streams, settings)
    : startThreads(store, streams, settings));
  await warmUp(sending, segments, settings, observer.signal);
  throwIfAborted(observer.signal);
  for (const follower of followers) follower.takeLatency();
  const run = sending.prepare(segments);
  const start = preciseNow() + LEAD;
  const sampler = new Sampler({ store, senders: run.senders, followers, segments, start });
  const interval = Math.max(SAMPLE_INTERVAL_MIN, (settings.seconds * MILLISECONDS) / SAMPLES);
  const timer = setInterval(() => {
    const before = sampler.totals.acknowledged;
    const sample = sampler.take();
    observer.sampled(sample, sampler.totals.acknowledged - before);
  }, interval);
  const processor = process.cpuUsage();
  try {
    await run.start(start, observer.signal);
    const seconds = (preciseNow() - start) / MILLISECONDS;
    const followersCaughtUp = await catchUp(followers, observer.signal);
    sampler.end();
    const { user, system } = process.cpuUsage(processor);
    const interrupted = observer.signal.aborted ? { interrupted: String(observer.signal.reason) } : {};
    const found = { command: observer.command, startedAt, settings, seconds, followersCaughtUp, ...interrupted };
    return resultOf(store, sampler, run.senders, {
      ...found,
      processorSeconds: (user + system) / MICROSECONDS_PER_SECOND,
    });
  } finally {
    clearInterval(timer);
    await Promise.all(followers.map((follower) => follower.stop()));
    await sending.end();
  }
}

/** Compiles the code and touches the memory at the rate that the test begins with. Nothing of it is counted. */
async function warmUp(
  sending: Sending,
  segments: readonly Segment[],
  { warmUpSeconds }: LoadSettings,
  signal: AbortSignal,
): Promise<void> {
  const rate = segments[0]?.from ?? 0;
  if (warmUpSeconds === 0) return;
  const run = sending.prepare([{ seconds: warmUpSeconds, from: rate, to: rate }]);
  await run.start(preciseNow(), signal);
  for (const sender of run.senders) sender.takeCounts();
}

async function openStreams(store: Store, { streams, keys }: LoadSettings): Promise<Stream[]> {
  const opened: Stream[] = [];
  for (let index = 0; index < streams; index += 1) {
    opened.push(await store.stream(streamName(index), keys === 0 ? {} : { cleanup: 'compact' }));
  }
  return opened;
}

/** Waits until followers have read all, as long as they make headway; returns how many have. */
async function catchUp(followers: readonly Follower[], signal: AbortSignal): Promise<number> {
  const limit = preciseNow() + FOLLOW_LIMIT;
  for (;;) {
    const done = await Promise.all(followers.map((follower) => follower.caughtUp()));
    const count = done.filter(Boolean).length;
    if (count === followers.length || signal.aborted || preciseNow() > limit) return count;
    await sleep(FOLLOW_POLL);
  }
}

type Found = Pick<
  LoadResult,
  'command' | 'startedAt' | 'settings' | 'seconds' | 'followersCaughtUp' | 'processorSeconds' | 'interrupted'
>;

function resultOf(store: Store, sampler: Sampler, senders: readonly LoadSource[], found: Found): LoadResult {
  const { objects, ring, compaction } = store.stats();
  const { totals, samples } = sampler;
  return {
    version: LOAD_RESULT_VERSION,
    kind: 'load',
    machine: machineFacts(found.settings.dir),
    ...found,
    slots: ring?.slots ?? 0,
    slotBytes: ring?.slotBytes ?? 0,
    sent: totals.sent,
    acknowledged: totals.acknowledged,
    unsent: senders.reduce((sum, { unsent }) => sum + unsent, 0),
    unanswered: senders.reduce((sum, { inFlight }) => sum + inFlight, 0),
    failed: Object.fromEntries(totals.failed),
    received: totals.received,
    latency: totals.latency.percentiles(),
    endToEnd: totals.endToEnd.percentiles(),
    lateness: totals.lateness.percentiles(),
    latencyCurve: totals.latency.curve(),
    endToEndCurve: totals.endToEnd.curve(),
    peakResidentBytes: totals.peakResidentBytes,
    storedBytes: objects.committedBytes,
    compaction: {
      jobs: samples.at(-1)?.compactionJobs ?? 0,
      readBytes: compaction?.readBytes ?? 0,
      writtenBytes: compaction?.writtenBytes ?? 0,
    },
    samples,
  };
}
