/**
 * Compares a run with an earlier one, by what machines have in common: ratios to the floor of the same run. A figure is
 * worse when its median moved in the wrong direction by more than both runs' own ranges explain.
 */
import { ratioOf, type Results } from './results.ts';
import type { Spread } from './statistics.ts';

export interface Change {
  readonly workload: string;
  readonly figure: string;
  readonly before: Spread;
  readonly now: Spread;
  /** How far the median may move. */
  readonly noise: number;
  readonly worse: boolean;
}

/** No figure is steadier than this share of itself, whatever a few rounds show. */
const NOISE_SHARE_MIN = 0.05;

/** One entry for each figure that both runs have a ratio of. */
export function compare(before: Results, now: Results): Change[] {
  const known = new Map(
    before.workloads.flatMap(({ name, figures }) => figures.map((figure) => [`${name} ${figure.name}`, figure])),
  );
  return now.workloads.flatMap(({ name, figures }) =>
    figures.flatMap((figure) => {
      const earlier = known.get(`${name} ${figure.name}`);
      const then = earlier === undefined ? undefined : ratioOf(earlier);
      const ratio = ratioOf(figure);
      if (then === undefined || ratio === undefined) return [];
      return [{ workload: name, figure: figure.name, ...judge(then, ratio, figure.better) }];
    }),
  );
}

function judge(before: Spread, now: Spread, better: 'higher' | 'lower'): Omit<Change, 'workload' | 'figure'> {
  const noise = Math.max(before.max - before.min, now.max - now.min, before.median * NOISE_SHARE_MIN);
  const loss = better === 'higher' ? before.median - now.median : now.median - before.median;
  return { before, now, noise, worse: loss > noise };
}

/** What the comparison found, worst first. */
export function comparisonText(changes: readonly Change[], before: Results, now: Results): string {
  const worse = changes.filter((change) => change.worse);
  const lines = worse.map(
    ({ workload, figure, before: then, now: ratio, noise }) =>
      `WORSE  ${workload}, ${figure}: ratio ${ratio.median.toFixed(3)}, was ${then.median.toFixed(3)}, ` +
      `noise ${noise.toFixed(3)}`,
  );
  const sameMachine = before.machine.processor === now.machine.processor && before.machine.cores === now.machine.cores;
  if (!sameMachine) {
    lines.push(`The earlier run was on another machine: ${before.machine.processor}, ${before.machine.cores} cores.`);
  }
  if (before.quick || now.quick) lines.push('A quick run took part: the comparison shows that it works, no more.');
  lines.push(`${changes.length} ratios compared with the earlier run, ${worse.length} worse beyond their noise.`);
  return `${lines.join('\n')}\n`;
}
