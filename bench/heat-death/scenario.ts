/**
 * The scenario: a slow stream with many eager readers. One user record a second; 500 readers that commit their offsets
 * 100 times a second each; 64 MiB of retention. Were every commit written and counted, nothing but commits would be
 * left.
 *
 * In memory the last commit wins, so that of those between two deltas only the last can matter: the simulation makes
 * one for each reader every few seconds where they make hundreds. Its test shows that this changes nothing.
 */
import { SeededRandom } from '../../src/base/random.ts';
import { SimulatedStore, type StoreSettings } from './simulated-store.ts';

export interface ScenarioFacts {
  readonly readers: number;
  readonly commitsPerSecond: number;
  readonly recordBytes: number;
}

export interface Scenario extends ScenarioFacts {
  readonly seconds: number;
  /** Seconds between the commits that are simulated: whole ones, or a part of one that divides it. */
  readonly commitEvery: number;
}

/** What is there at one moment. */
export interface Sample {
  readonly hours: number;
  /** Written so far. */
  readonly writtenUserBytes: number;
  /** Readable, flushed or not. */
  readonly keptUserBytes: number;
  readonly records: number;
  /** In objects: trailers, deltas, snapshots; and records kept for the tracking beside them alone. */
  readonly trackingBytes: number;
  readonly heldBytes: number;
  /** Bytes of user data that would be left if retention counted everything. */
  readonly keptIfAllCounted: number;
  /** Entered the log so far. */
  readonly loggedTrackingBytes: number;
  readonly interval: number;
  /** Runs that opening the stream reads. */
  readonly runsToOpen: number;
  readonly segments: number;
  readonly references: number;
}

const SAMPLES = 168;
/** A reader that comes once an hour, commits once, and is never seen again. */
const VISITOR_EVERY = 3_600;
const COMPACT_EVERY = 300;
/** Seconds between looks at what retention and the grace of deletions let go. */
const CLEAN_EVERY = 60;
/**
 * Records of different bytes, more than any chunk holds: repeated, they compress no better than they would otherwise.
 */
const VALUES = 1_024;
const ALL_RUNS = { maxRuns: Infinity, maxBytes: Infinity };

export async function runScenario(
  settings: StoreSettings,
  scenario: Scenario,
  progress?: (second: number) => void,
): Promise<Sample[]> {
  const store = await SimulatedStore.open(settings);
  const { seconds, readers, recordBytes, commitEvery } = scenario;
  const names = Array.from({ length: readers }, (_, index) => `reader-${String(index).padStart(3, '0')}`);
  const values = randomValues(recordBytes);
  const step = Math.min(1, commitEvery);
  const sampleEvery = Math.max(1, Math.ceil(seconds / SAMPLES));
  const samples: Sample[] = [];
  for (let second = 0; second < seconds; second += 1) {
    store.append(values[second % values.length] as Uint8Array, recordBytes);
    if (second % VISITOR_EVERY === 0) void store.tracker.store(`visitor-${second / VISITOR_EVERY}`, second, false);
    for (let at = second; at < second + 1; at += step) {
      if (at % commitEvery < step) commit(store, names, second);
      await store.advance(step * 1_000);
    }
    if (second % CLEAN_EVERY === 0) await store.clean();
    if (second % COMPACT_EVERY === 0) await store.compact();
    if ((second + 1) % sampleEvery !== 0 && second + 1 !== seconds) continue;
    samples.push(await take(store, second + 1, settings.retentionBytes));
    progress?.(second + 1);
  }
  return samples;
}

/** Every reader is a little behind the last record. */
function commit({ tracker }: SimulatedStore, names: readonly string[], second: number): void {
  for (const [index, name] of names.entries()) void tracker.store(name, Math.max(0, second - (index % 7)), false);
}

async function take(store: SimulatedStore, second: number, retentionBytes: number): Promise<Sample> {
  const totals = await store.totals();
  const { interval, references } = store.tracker.stats();
  return {
    hours: second / 3_600,
    writtenUserBytes: store.stream.userBytes,
    keptUserBytes: totals.userBytes + store.unflushedUserBytes(totals),
    records: totals.records,
    trackingBytes: totals.trackingBytes,
    heldBytes: totals.heldBytes,
    keptIfAllCounted: await keptIfAllCounted(store, retentionBytes),
    loggedTrackingBytes: store.stream.trackingBytes,
    interval,
    runsToOpen: await store.trackingRuns(),
    segments: totals.segments,
    references,
  };
}

/** The newest runs that fit the limit with everything they hold: what retention by size on disk keeps. */
async function keptIfAllCounted(store: SimulatedStore, retentionBytes: number): Promise<number> {
  const { streamId } = store.stream;
  const { runs } = await store.coordinator.findRuns(streamId, 0, ALL_RUNS);
  let left = retentionBytes;
  let kept = 0;
  for (const { userBytes, trackingBytes } of runs.toReversed()) {
    left -= userBytes + trackingBytes;
    if (left < 0) break;
    kept += userBytes;
  }
  return kept;
}

function randomValues(bytes: number): Uint8Array[] {
  const random = new SeededRandom(3);
  return Array.from({ length: VALUES }, () => random.bytes(bytes));
}
