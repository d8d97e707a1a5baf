/** What the samples come to: the promises, and what each measure buys. */
import { trackingFrameBytes } from '../../src/record/tracking-frames.ts';
import { TRACKING_ENTRY, trackingEntryBytes } from '../../src/record/tracking-format.ts';
import { chunkBytes } from '../../src/segment/chunk-format.ts';
import type { Sample, ScenarioFacts } from './scenario.ts';
import type { StoreSettings } from './simulated-store.ts';
import type { Variant } from './variants.ts';

export interface VariantResult {
  readonly variant: Pick<Variant, 'name' | 'text'>;
  readonly settings: StoreSettings;
  readonly seconds: number;
  readonly samples: readonly Sample[];
}

export interface KeptPromise {
  readonly text: string;
  readonly value: string;
  readonly kept: boolean;
}

/** One measure: what there is with it, and without. */
export interface Measure {
  readonly measure: string;
  readonly what: string;
  readonly unit: 'bytes' | 'count';
  readonly with: number;
  readonly without: number;
}

/** Before this the first segments have not had the time to be compacted, and a small stream is mostly tracking. */
const SETTLED_HOURS = 4;
const ENTRY_BYTES = trackingEntryBytes({ type: TRACKING_ENTRY.offset, reference: 'reader-000', offset: 0 });

function lastOf({ samples }: VariantResult): Sample {
  const last = samples.at(-1);
  if (last === undefined) throw new Error('a scenario of at least one sample');
  return last;
}

/** Bytes of tracking in objects for each byte of user data there. */
export function storedShare({ trackingBytes, keptUserBytes }: Sample): number {
  return trackingBytes / (trackingBytes + keptUserBytes);
}

/** What the scenario has to show with everything on. */
export function promisesOf({ samples, settings }: VariantResult): KeptPromise[] {
  const { retentionBytes, tracking } = settings;
  const lacking = samples.filter(
    (sample) => sample.keptUserBytes < Math.min(sample.writtenUserBytes * 0.99, retentionBytes),
  );
  const settled = samples.filter(({ hours }) => hours >= SETTLED_HOURS);
  const most = Math.max(0, ...settled.map(storedShare));
  const reads = Math.max(...samples.map(({ runsToOpen }) => runsToOpen));
  return [
    {
      text: 'samples in which user data inside the retention is missing',
      value: `${lacking.length} of ${samples.length}`,
      kept: lacking.length === 0,
    },
    {
      text: `largest share of tracking in what is stored, after ${SETTLED_HOURS} hours`,
      value: `${(100 * most).toFixed(2)} %, budget ${100 * tracking.budget} %`,
      kept: most <= tracking.budget,
    },
    {
      text: 'longest time that a commit is gathered',
      value: `${Math.max(...samples.map(({ interval }) => interval))} ms, bound ${tracking.maxInterval} ms`,
      kept: samples.every(({ interval }) => interval <= tracking.maxInterval),
    },
    { text: 'most runs that opening the stream reads for its tracking', value: `${reads}`, kept: reads <= 256 },
  ];
}

export function measuresOf(results: readonly VariantResult[], scenario: ScenarioFacts): Measure[] {
  const [all, ...others] = results;
  if (all === undefined) return [];
  const last = lastOf(all);
  const other = (name: string): Sample | undefined => {
    const result = others.find(({ variant }) => variant.name === name);
    return result === undefined ? undefined : lastOf(result);
  };
  const { readers, commitsPerSecond, recordBytes } = scenario;
  const commits = readers * commitsPerSecond * all.seconds;
  const everyCommit =
    (all.settings.retentionBytes * recordBytes) / (recordBytes + readers * commitsPerSecond * ENTRY_BYTES);
  const uncompacted = other('no compaction');
  const unsnapshotted = other('no snapshots');
  const fixed = other('fixed interval');
  const perSecond = (sample: Sample): number => sample.loggedTrackingBytes / (sample.hours * 3_600);
  const bytes = (measure: string, what: string, on: number, off: number): Measure => {
    return { measure, what, unit: 'bytes', with: on, without: off };
  };
  const count = (measure: string, what: string, on: number, off: number): Measure => {
    return { measure, what, unit: 'count', with: on, without: off };
  };
  const deltaBytes = readers * ENTRY_BYTES;
  const deltas = all.settings.flushInterval / all.settings.tracking.maxInterval;
  const measures = [
    bytes('all of them', 'user data kept', last.keptUserBytes, everyCommit),
    bytes(
      'gathering commits',
      'tracking in the log',
      last.loggedTrackingBytes,
      commits * trackingFrameBytes(ENTRY_BYTES),
    ),
    bytes('trailers', 'tracking stored by a flush', deltaBytes, deltas * chunkBytes(deltaBytes, 0)),
    count('eviction', 'references known', last.references, readers + Math.ceil(last.hours)),
  ];
  if (fixed !== undefined) {
    measures.push(bytes('adaptive interval', 'tracking in the log, a second', perSecond(last), perSecond(fixed)));
  }
  if (uncompacted !== undefined) {
    const { trackingBytes, keptUserBytes, keptIfAllCounted } = uncompacted;
    measures.push(bytes('compaction', 'tracking stored', last.trackingBytes, trackingBytes));
    measures.push(bytes('counting user bytes', 'user data kept, uncompacted', keptUserBytes, keptIfAllCounted));
  }
  if (unsnapshotted !== undefined) {
    measures.push(count('snapshots', 'runs to read at opening', last.runsToOpen, unsnapshotted.runsToOpen));
    measures.push(bytes('snapshots', 'kept for tracking alone', last.heldBytes, unsnapshotted.heldBytes));
  }
  return measures;
}
