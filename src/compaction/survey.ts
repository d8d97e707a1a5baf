/** What an agent saw of the store's objects when it last looked for work: sizes, ages and dirt, for whoever watches. */
import { MIB } from '../limits/limits.ts';
import { COMPACTED_GENERATION } from './stream-class.ts';
import { type CompactionView, dirtyRatioOf, type ObjectFacts } from './view.ts';

export interface GenerationSurvey {
  objects: number;
  bytes: number;
}

export interface Survey {
  /** Coordinator time. */
  readonly at: number;
  /** Objects of appends are `0`; outputs of key compaction are `compacted`. */
  readonly generations: Readonly<Record<string, GenerationSurvey>>;
  /** How many objects are not larger, older or dirtier than each bound; all of them under `Infinity`. */
  readonly sizes: readonly Bounded[];
  readonly ages: readonly Bounded[];
  readonly dirt: readonly Bounded[];
  /** Bytes that a rewrite of everything would free. */
  readonly deadBytes: number;
  /** Tracking that later snapshots replace, as far as it was looked for. */
  readonly supersededBytes: number;
  /** Milliseconds since the oldest object of appends was committed: how far merging is behind. 0 without any. */
  readonly mergeLag: number;
  /** Objects with bytes that a deletion deadline wants gone, and how late the latest of them is, in milliseconds. */
  readonly deadlines: number;
  readonly deadlineOverdue: number;
}

export interface Bounded {
  readonly bound: number;
  readonly objects: number;
}

const HOUR = 3_600_000;
const SIZES = [MIB, 8 * MIB, 32 * MIB, 100 * MIB, 256 * MIB, 1024 * MIB, Infinity];
const AGES = [HOUR / 4, HOUR / 2, HOUR, 24 * HOUR, 7 * 24 * HOUR, 30 * 24 * HOUR, Infinity];
const DIRT = [0, 0.1, 0.25, 0.5, 0.75, Infinity];

export function surveyOf({ now, objects }: CompactionView): Survey {
  const generations: Record<string, GenerationSurvey> = {};
  let mergeLag = 0;
  let deadBytes = 0;
  let supersededBytes = 0;
  let deadlines = 0;
  let deadlineOverdue = 0;
  for (const object of objects) {
    const { generation, bytes, cleanBytes, committedAt, rewriteBy } = object;
    const survey = (generations[nameOf(generation)] ??= { objects: 0, bytes: 0 });
    survey.objects += 1;
    survey.bytes += bytes;
    deadBytes += Math.max(0, bytes - cleanBytes);
    supersededBytes += object.supersededBytes;
    if (generation === 0) mergeLag = Math.max(mergeLag, now - committedAt);
    if (rewriteBy === undefined) continue;
    deadlines += 1;
    deadlineOverdue = Math.max(deadlineOverdue, now - rewriteBy);
  }
  return {
    at: now,
    generations,
    sizes: bounded(objects, SIZES, ({ bytes }) => bytes),
    ages: bounded(objects, AGES, ({ committedAt }) => now - committedAt),
    dirt: bounded(objects, DIRT, dirtyRatioOf),
    deadBytes,
    supersededBytes,
    mergeLag,
    deadlines,
    deadlineOverdue,
  };
}

function nameOf(generation: number): string {
  return generation >= COMPACTED_GENERATION ? 'compacted' : String(generation);
}

function bounded(
  objects: readonly ObjectFacts[],
  bounds: readonly number[],
  of: (object: ObjectFacts) => number,
): Bounded[] {
  const counts = bounds.map(() => 0);
  for (const object of objects) {
    const value = of(object);
    for (const [index, bound] of bounds.entries()) if (value <= bound) counts[index] = (counts[index] ?? 0) + 1;
  }
  return bounds.map((bound, index) => ({ bound, objects: counts[index] ?? 0 }));
}
