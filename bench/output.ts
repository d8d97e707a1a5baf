/** The figures of a run for people. */
import { table } from '../src/cli/text.ts';
import { machineText } from '../src/cli/machine.ts';
import { FIGURE_HEADING, figureCells } from './figure-cells.ts';
import { type Results, verdictOf, type WorkloadResult } from './results.ts';

const HEADING = ['workload', ...FIGURE_HEADING];

export function resultsText(results: Results): string {
  const { workloads, quick, machine } = results;
  const figures = workloads.flatMap(({ figures: all }) => all);
  const verdicts = figures.map(verdictOf).filter((verdict) => verdict !== 'no target');
  const missed = verdicts.filter((verdict) => verdict === 'missed').length;
  const failures = workloads.filter(({ failure }) => failure !== undefined);
  return [
    machineText(machine),
    table(HEADING, workloads.flatMap(rows)),
    'Median and range over the rounds; ratios are taken round by round, millrace to floor.',
    `${verdicts.length - missed} of ${verdicts.length} targets met, ${missed} missed.`,
    ...failures.map(({ name, failure }) => `${name} failed: ${failure ?? ''}`),
    ...(quick ? ['This was a quick run: it shows that the suite works, and its figures say nothing.'] : []),
    '',
  ].join('\n');
}

function rows({ name, figures }: WorkloadResult): string[][] {
  return figures.map((figure, index) => [index === 0 ? name : '', ...figureCells(figure)]);
}
