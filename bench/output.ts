/** The figures of a run for people. */
import { table } from '../src/cli/text.ts';
import { machineText } from '../src/cli/machine.ts';
import { formatSpread, formatSubject, formatValue } from './format.ts';
import { type FigureResult, ratioOf, type Results, targetText, verdictOf, type WorkloadResult } from './results.ts';
import { spreadOf } from './statistics.ts';

const HEADING = ['workload', 'figure', 'floor', 'millrace', 'ratio', 'target (goal)', 'verdict'];

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
  return figures.map((figure, index) => [index === 0 ? name : '', ...cells(figure)]);
}

function cells(figure: FigureResult): string[] {
  const { name, unit, floor, millrace, target } = figure;
  const format = (value: number): string => formatValue(value, unit);
  const ratio = ratioOf(figure);
  const verdict = verdictOf(figure);
  return [
    name,
    floor.length === 0 ? '-' : formatSpread(spreadOf(floor), format),
    formatSpread(spreadOf(millrace), format),
    ratio === undefined ? '-' : formatSpread(ratio, (value) => `${value.toFixed(2)}x`),
    target === undefined ? '-' : targetText(target, (value, subject) => formatSubject(value, subject, unit)),
    verdict === 'no target' ? '-' : verdict,
  ];
}
