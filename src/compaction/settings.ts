/** Every heuristic of compaction: its meaning, default and range in one place, checked once at open. */
import { invalid, shown } from '../errors/argument-checks.ts';
import { checkOptionNames } from '../errors/option-names.ts';
import { GIB, KIB, MIB, OBJECT_BYTES_MAX } from '../limits/limits.ts';

/** Milliseconds and bytes, as everywhere. All times are measured by the coordinator's clock. */
export interface CompactionSettings {
  /**
   * How old an object of appends is before it is merged. Longer: more of it may have expired by then, and is never
   * copied. Shorter: readers meet fewer small objects. Default 15 minutes.
   */
  readonly minFirstGenerationAge: number;
  /**
   * How old an object of appends may become before it is merged with whatever is there, even into an object below the
   * target. Longer: fewer, larger merges. Shorter: a bounded number of small objects in quiet stores. Default 30
   * minutes.
   */
  readonly maxFirstGenerationAge: number;
  /**
   * What merges aim at, and the size from which an object is left alone. Larger: fewer objects and requests. Smaller:
   * less to copy when part of an object dies. Default 100 MiB.
   */
  readonly targetBytes: number;
  /** No output and no sum of a merge's inputs is larger, except where one run alone is. Default 1 GiB. */
  readonly maxBytes: number;
  /** Objects that make a merge worthwhile. More: fewer copies of each byte; fewer: fewer objects. Default 4. */
  readonly minInputs: number;
  /** Objects that one merge takes. Bounds the work that a lost lease wastes. Default 8. */
  readonly maxInputs: number;
  /**
   * As `maxInputs` for objects of appends, which are many and small. A merge takes no more once it has a quarter more
   * than `targetBytes`, so this bounds merges of tiny objects: more make fewer objects. Default 64.
   */
  readonly maxFirstGenerationInputs: number;
  /**
   * How often a byte is merged at most, unless its object is below an eighth of `targetBytes`: the bound of write
   * amplification. More: fewer objects and requests of readers. Default 2.
   */
  readonly maxGenerations: number;
  /**
   * Share of dead bytes from which an object is rewritten; and the share of records newer than the last key compaction
   * from which a compacted stream is compacted again. A rewrite at `d` copies (1 - d) / d bytes for each byte it frees,
   * and storage is at most 1 / (1 - d) of what lives. Default 0.5.
   */
  readonly dirtyRatio: number;
  /** Share of superseded tracking from which an object is rewritten without it. Default 0.25. */
  readonly trackingRatio: number;
  /**
   * Lifetime of an object, after which it is rewritten whatever it holds: all bytes are read, checked and stored anew
   * within this time. Default 30 days.
   */
  readonly maxAge: number;
  /**
   * Streams whose data expires within the same bucket of time share outputs, so that whole objects die at once. Wider:
   * fewer, larger objects. Narrower: less dead data beside live data. Default 1 day.
   */
  readonly expiryBucket: number;
  /**
   * How long after its timestamp a tombstone is kept by key compaction: readers that come later than this after a key's
   * removal may not learn of it. Default 24 hours.
   */
  readonly tombstoneRetention: number;
  /** As the coordinator's: from an object's replacement until it is deleted. Deadlines reckon with it. Default 60 s. */
  readonly deleteGrace: number;
  /**
   * How long before a deletion deadline, beyond `deleteGrace` and the cleaner's interval, the rewrite is due: the time
   * for waiting, running and one failed attempt. Streams with deadlines shorter than all three are rewritten at once,
   * and may miss them. Default 10 minutes.
   */
  readonly deadlineMargin: number;
  /** How long a job stays its worker's without a sign of life. Shorter: faster takeover after a crash. Default 60 s. */
  readonly lease: number;
  /** How often a worker renews the lease. Default 10 s. */
  readonly heartbeat: number;
  /** How often planners look for work. Default 10 s. */
  readonly interval: number;
  /**
   * Memory of a job. More: in a directory larger windows, on S3 more outputs at a time, so that inputs are read less
   * often, and larger parts. Default 64 MiB, which is the least.
   */
  readonly jobBytes: number;
  /** Jobs at the same time. Each takes a pool thread and `jobBytes`. Default 2. */
  readonly maxConcurrentJobs: number;
  /** Input bytes per second, all jobs together. Half of the write rate keeps up with it. Default unlimited. */
  readonly bytesPerSecond: number;
}

/** What users may set. */
export type CompactionOptions = Partial<CompactionSettings>;

interface OptionRange {
  readonly default: number;
  readonly least: number;
  readonly most: number;
  readonly unit: 'milliseconds' | 'bytes' | 'bytes per second' | 'ratio' | 'count';
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEARS = 100 * 365 * DAY;

export const COMPACTION_OPTIONS: Readonly<Record<keyof CompactionSettings, OptionRange>> = {
  minFirstGenerationAge: { default: 15 * MINUTE, least: 0, most: YEARS, unit: 'milliseconds' },
  maxFirstGenerationAge: { default: 30 * MINUTE, least: 0, most: YEARS, unit: 'milliseconds' },
  targetBytes: { default: 100 * MIB, least: 4 * KIB, most: OBJECT_BYTES_MAX, unit: 'bytes' },
  maxBytes: { default: GIB, least: 4 * KIB, most: OBJECT_BYTES_MAX, unit: 'bytes' },
  minInputs: { default: 4, least: 2, most: 128, unit: 'count' },
  maxInputs: { default: 8, least: 2, most: 128, unit: 'count' },
  maxFirstGenerationInputs: { default: 64, least: 2, most: 128, unit: 'count' },
  maxGenerations: { default: 2, least: 1, most: 100, unit: 'count' },
  dirtyRatio: { default: 0.5, least: 0.01, most: 1, unit: 'ratio' },
  trackingRatio: { default: 0.25, least: 0.01, most: 1, unit: 'ratio' },
  maxAge: { default: 30 * DAY, least: MINUTE, most: YEARS, unit: 'milliseconds' },
  expiryBucket: { default: DAY, least: SECOND, most: YEARS, unit: 'milliseconds' },
  tombstoneRetention: { default: DAY, least: 0, most: YEARS, unit: 'milliseconds' },
  deleteGrace: { default: 60 * SECOND, least: 0, most: YEARS, unit: 'milliseconds' },
  deadlineMargin: { default: 10 * MINUTE, least: 0, most: YEARS, unit: 'milliseconds' },
  lease: { default: 60 * SECOND, least: 10, most: DAY, unit: 'milliseconds' },
  heartbeat: { default: 10 * SECOND, least: 1, most: DAY, unit: 'milliseconds' },
  interval: { default: 10 * SECOND, least: 10, most: DAY, unit: 'milliseconds' },
  jobBytes: { default: 64 * MIB, least: 64 * MIB, most: 4 * GIB, unit: 'bytes' },
  maxConcurrentJobs: { default: 2, least: 1, most: 64, unit: 'count' },
  bytesPerSecond: { default: Infinity, least: KIB, most: Infinity, unit: 'bytes per second' },
};

/** A job's outputs are reserved for an hour: half of that is left for everything but reading at the set rate. */
const JOB_TIME_MAX = 30 * MINUTE;

type OptionName = keyof CompactionSettings;
const NAMES = Object.keys(COMPACTION_OPTIONS) as OptionName[];
const NAME_SET: ReadonlySet<string> = new Set(NAMES);

/** Pairs of options of which the first must not exceed the second. */
const ORDERED: readonly (readonly [OptionName, OptionName])[] = [
  ['minFirstGenerationAge', 'maxFirstGenerationAge'],
  ['targetBytes', 'maxBytes'],
  ['minInputs', 'maxInputs'],
];

/** Fills in the defaults; throws `ERR_MILLRACE_INVALID_ARGUMENT` for what no planner could work with. */
export function compactionSettings(options: CompactionOptions = {}): CompactionSettings {
  checkOptionNames(options, NAME_SET, 'open', 'compaction.');
  const entries = NAMES.map((name): [OptionName, number] => [name, checked(name, options[name])]);
  const settings = Object.fromEntries(entries) as Record<OptionName, number>;
  for (const [smaller, larger] of ORDERED) {
    if (settings[smaller] <= settings[larger]) continue;
    const values = `${settings[smaller]}, compaction.${larger} is ${settings[larger]}`;
    throw invalid(`compaction.${smaller} is ${values}: set both so that the first is not larger`);
  }
  const slowest = (settings.maxBytes * settings.maxConcurrentJobs * SECOND) / settings.bytesPerSecond;
  if (slowest > JOB_TIME_MAX) {
    const rate = `compaction.bytesPerSecond is ${settings.bytesPerSecond} for ${settings.maxConcurrentJobs} jobs`;
    throw invalid(
      `${rate}: one of compaction.maxBytes, ${settings.maxBytes}, would take ${slowest} ms; lower maxBytes`,
    );
  }
  if (settings.heartbeat * 2 > settings.lease) {
    const values = `compaction.heartbeat is ${settings.heartbeat} and compaction.lease ${settings.lease}`;
    throw invalid(`${values}: two heartbeats must fit into a lease, so that one may fail`);
  }
  return settings;
}

function checked(name: OptionName, value: number | undefined): number {
  const { default: fallback, least, most, unit } = COMPACTION_OPTIONS[name];
  if (value === undefined) return fallback;
  const whole = unit === 'ratio' || value === Infinity || Number.isSafeInteger(value);
  if (typeof value === 'number' && whole && value >= least && value <= most) return value;
  throw invalid(`option compaction.${name} is a number of ${unit} from ${least} to ${most}, not ${shown(value)}`);
}
