/** The JSON file of a run, and what follows from its samples. Samples are kept: every summary can be made again. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Machine } from '../src/cli/machine.ts';
import { type Spread, spreadOf } from './statistics.ts';
import type { Figure, Series, Subject, Target } from './workload.ts';

export const RESULTS_VERSION = 1;

export interface FigureResult extends Figure {
  /** One sample a round. */
  readonly millrace: readonly number[];
  /** Empty where the floor has no such figure. */
  readonly floor: readonly number[];
}

export interface WorkloadResult {
  readonly name: string;
  readonly what: string;
  readonly floor: string;
  readonly figures: readonly FigureResult[];
  readonly series?: Series;
  /** Why there are no figures. */
  readonly failure?: string;
  readonly seconds: number;
}

export interface Results {
  readonly version: number;
  readonly kind: 'bench';
  readonly startedAt: string;
  readonly command: string;
  readonly quick: boolean;
  readonly machine: Machine;
  readonly workloads: readonly WorkloadResult[];
}

export type Verdict = 'goal met' | 'met' | 'missed' | 'no target';

/** What a target of `subject` judges, one sample a round; `undefined` when that needs a floor and there is none. */
export function samplesOf(figure: FigureResult, subject: Subject): readonly number[] | undefined {
  if (subject === 'value') return figure.millrace;
  if (figure.floor.length !== figure.millrace.length || figure.floor.length === 0) return undefined;
  return figure.millrace.map((value, round) => {
    const floor = figure.floor[round]!;
    return subject === 'ratio' ? value / floor : value - floor;
  });
}

/** millrace against the floor, round by round. */
export function ratioOf(figure: FigureResult): Spread | undefined {
  const samples = samplesOf(figure, 'ratio');
  return samples === undefined ? undefined : spreadOf(samples);
}

/** Judged by the median over the rounds. */
export function verdictOf(figure: FigureResult): Verdict {
  const { target } = figure;
  const samples = target === undefined ? undefined : samplesOf(figure, target.subject);
  if (target === undefined || samples === undefined) return 'no target';
  const { median } = spreadOf(samples);
  const meets = (bound: number): boolean => (target.bound === 'at least' ? median >= bound : median <= bound);
  if (target.goal !== undefined && meets(target.goal)) return 'goal met';
  return meets(target.limit) ? 'met' : 'missed';
}

/** A target in a few words: `ratio at least 0.8, goal 0.85`. */
export function targetText(target: Target, format: (value: number, subject: Subject) => string): string {
  const { subject, bound, limit, goal } = target;
  const sign = bound === 'at least' ? '>=' : '<=';
  const hoped = goal === undefined ? '' : ` (${format(goal, subject)})`;
  return `${sign} ${format(limit, subject)}${hoped}`;
}

export function writeResults(path: string, results: object): void {
  writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`);
}

/** Reads results of this version; throws an error that says what to do otherwise. */
export function readResults(path: string): Results {
  const results = JSON.parse(readFileSync(path, 'utf8')) as Partial<Results>;
  if (results.kind !== 'bench' || results.version !== RESULTS_VERSION) {
    throw new Error(
      `${path} is not a results file of this version: make it again with npm run bench -- --json ${path}`,
    );
  }
  return results as Results;
}
