/** The part of the report on millrace beside the floor. */
import { MIB } from '../../src/limits/limits.ts';
import { short } from '../../src/report/format.ts';
import { linePlot } from '../../src/report/line-plot.ts';
import { FIGURE_HEADING, figureCells } from '../figure-cells.ts';
import { type FigureResult, ratioOf, type Results, verdictOf, type WorkloadResult } from '../results.ts';
import { type Bar, barChart } from './bars.ts';
import { type Cell, escape, htmlTable } from '../../src/report/html.ts';

export function benchSection({ workloads }: Results): string {
  const measured = workloads.filter(({ failure }) => failure === undefined);
  const failed = workloads.filter(({ failure }) => failure !== undefined);
  return [
    '<h2 id="floor">Beside the floor</h2>',
    '<p>The floor copies the same records into aligned memory, overwrites a file that was written before, and',
    'syncs: what the disk and a copy cost, without a format, a checksum, an index or a reader. Ratios are taken',
    'round by round, millrace to floor: 1x is as fast as the floor. Thin lines are the range over the rounds, dotted',
    'marks are targets and goals.</p>',
    ratioChart(measured),
    ...measured.flatMap(memorySection),
    ...measured.map(workloadSection),
    ...failed.map(({ name, failure }) => `<p class="missed">${escape(`${name} failed: ${failure ?? ''}`)}</p>`),
  ].join('\n');
}

/** Every ratio that has a target, on one scale. */
function ratioChart(workloads: readonly WorkloadResult[]): string {
  const bars = workloads.flatMap(({ name, figures }) =>
    figures.flatMap((figure): Bar[] => {
      const { target } = figure;
      const ratio = target?.subject === 'ratio' ? ratioOf(figure) : undefined;
      if (target === undefined || ratio === undefined) return [];
      const marks = target.goal === undefined ? [target.limit] : [target.limit, target.goal];
      const sign = target.bound === 'at most' ? ', lower is better' : '';
      const text = `${ratio.median.toFixed(2)}x ${verdictOf(figure)}${sign}`;
      const parts = [{ value: ratio.median, kind: 'millrace' }];
      return [{ label: `${name} ${figure.name}`, parts, range: [ratio.min, ratio.max], text, marks }];
    }),
  );
  return bars.length === 0
    ? ''
    : barChart('Ratios of millrace to the floor', bars, { axis: (ratio) => `${short(ratio)}x` });
}

function memorySection({ name, figures, series }: WorkloadResult): string[] {
  if (series === undefined) return [];
  const target = figures.find((figure) => figure.name === 'peak memory')?.target;
  const title = `Resident memory during ${name}`;
  const plot = linePlot({
    title,
    note: 'MiB over seconds',
    x: series.rows.map(([seconds = 0]) => seconds),
    lines: [{ name: 'resident memory', values: series.rows.map(([, bytes = 0]) => bytes / MIB) }],
    ...(target === undefined ? {} : { limit: { name: 'target', value: target.limit / MIB } }),
  });
  return [`<h3>${escape(title)}</h3>`, plot];
}

function workloadSection({ name, what, floor, figures }: WorkloadResult): string {
  return [
    `<h3>${escape(name)}</h3>`,
    `<p>${escape(what)}. Floor: ${escape(floor)}.</p>`,
    htmlTable(FIGURE_HEADING, figures.map(figureRow)),
  ].join('\n');
}

function figureRow(figure: FigureResult): Cell[] {
  const verdict = verdictOf(figure);
  const cells: Cell[] = figureCells(figure);
  if (verdict === 'no target') return cells;
  const html = `<span class="${verdict === 'missed' ? 'missed' : 'met'}">${verdict}</span>`;
  return [...cells.slice(0, -1), { html }];
}
