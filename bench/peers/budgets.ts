/** What millrace has to reach beside the best engine that makes the same promise. */
import { formatValue } from '../format.ts';
import { spreadOf } from '../statistics.ts';
import type { Figure, Unit } from '../workload.ts';
import type { PeerResults, PeerRow } from './results.ts';

interface Budget {
  readonly workload: string;
  readonly figure: string;
  /** `times best` is millrace's median divided by that of the best durable engine; `value` is millrace's alone. */
  readonly subject: 'times best' | 'value';
  readonly bound: 'at least' | 'at most';
  readonly limit: number;
}

export interface JudgedBudget extends Budget {
  readonly unit: Unit;
  /** Medians over the rounds; `best` is the best durable engine, and is there whatever the budget is about. */
  readonly millrace?: number;
  readonly best?: { readonly peer: string; readonly value: number };
  readonly verdict: 'met' | 'missed' | 'not measured';
}

/** A promise for each record: what most users of streams write. `appendMany` is shown beside it and not judged. */
const JUDGED = 'millrace';

const BUDGETS: readonly Budget[] = [
  { workload: 'ingest-1k-4096', figure: 'rate', subject: 'times best', bound: 'at least', limit: 3 },
  { workload: 'ingest-100-4096', figure: 'rate', subject: 'times best', bound: 'at least', limit: 2 },
  { workload: 'ingest-16k-4096', figure: 'rate', subject: 'times best', bound: 'at least', limit: 2.5 },
  { workload: 'ingest-1k-64', figure: 'rate', subject: 'times best', bound: 'at least', limit: 1.3 },
  { workload: 'ingest-1k-64', figure: 'ack p99', subject: 'value', bound: 'at most', limit: 1 },
  { workload: 'ingest-1k-1', figure: 'ack p50', subject: 'times best', bound: 'at most', limit: 1 },
  { workload: 'streams-1000', figure: 'rate', subject: 'times best', bound: 'at least', limit: 4 },
  { workload: 'read-100', figure: 'scan', subject: 'times best', bound: 'at least', limit: 2 },
  {
    workload: 'ingest-1k-4096',
    figure: 'processor time a million records',
    subject: 'value',
    bound: 'at most',
    limit: 1,
  },
];

/** One for each budget whose figure was asked for. */
export function judgeBudgets({ peers, workloads }: PeerResults): JudgedBudget[] {
  const rivals = new Set(peers.filter(({ name, durable }) => durable && !isOwn(name)).map(({ name }) => name));
  return BUDGETS.flatMap((budget) => {
    const workload = workloads.find(({ name }) => name === budget.workload);
    const figure = workload?.figures.find(({ name }) => name === budget.figure);
    return workload === undefined || figure === undefined ? [] : [judge(budget, figure, workload.rows, rivals)];
  });
}

/** The floor keeps nothing that could be read, and millrace does not compete with itself. */
export function isOwn(peer: string): boolean {
  return peer === 'floor' || peer.startsWith('millrace');
}

/** What the budget is about; `undefined` where something was not measured. */
function judgedValue({ subject, millrace, best }: JudgedBudget): number | undefined {
  if (subject === 'value') return millrace;
  return millrace === undefined || best === undefined ? undefined : millrace / best.value;
}

/** Of `budgetCells`. */
export const BUDGET_HEADING: readonly string[] = ['budget', 'verdict', 'millrace', 'best durable engine', 'ratio'];

export function budgetCells(budget: JudgedBudget): string[] {
  const { workload, figure, subject, bound, limit, unit, millrace, best, verdict } = budget;
  const sign = bound === 'at least' ? '>=' : '<=';
  const wanted = subject === 'value' ? formatValue(limit, unit) : `${limit} x the best`;
  return [
    `${workload} ${figure} ${sign} ${wanted}`,
    verdict,
    millrace === undefined ? '-' : formatValue(millrace, unit),
    best === undefined ? '-' : `${best.peer} ${formatValue(best.value, unit)}`,
    millrace === undefined || best === undefined ? '-' : `${(millrace / best.value).toFixed(2)}x`,
  ];
}

function judge(
  budget: Budget,
  { unit, better }: Figure,
  rows: readonly PeerRow[],
  rivals: ReadonlySet<string>,
): JudgedBudget {
  const medians = rows.flatMap(({ peer, samples }) => {
    const taken = samples[budget.figure] ?? [];
    return taken.length === 0 ? [] : [{ peer, value: spreadOf(taken).median }];
  });
  const millrace = medians.find(({ peer }) => peer === JUDGED)?.value;
  const sign = better === 'higher' ? -1 : 1;
  const [best] = medians
    .filter(({ peer }) => rivals.has(peer))
    .sort((left, right) => sign * (left.value - right.value));
  const judged: JudgedBudget = {
    ...budget,
    unit,
    ...(millrace === undefined ? {} : { millrace }),
    ...(best === undefined ? {} : { best }),
    verdict: 'not measured',
  };
  const value = judgedValue(judged);
  if (value === undefined) return judged;
  const meets = budget.bound === 'at least' ? value >= budget.limit : value <= budget.limit;
  return { ...judged, verdict: meets ? 'met' : 'missed' };
}
