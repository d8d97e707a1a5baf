/** The report of a simulation as a page. */
import { shortScaled } from '../../src/report/format.ts';
import { escape, htmlTable } from '../../src/report/html.ts';
import { linePlot } from '../../src/report/line-plot.ts';
import { htmlPage } from '../../src/report/page.ts';
import { BAR_STYLE, barChart } from '../report/bars.ts';
import { scaleOf } from './cost.ts';
import type { SimResult, VariantResult } from './result.ts';
import { FIGURE_ROWS, JOB_HEADING, jobRows, scalingText } from './table.ts';

/** Storage last: what is left out by one chart must not change the colours of the rest. */
const PART_NAMES = {
  ingest: 'PUTs of appends',
  rewriteReads: 'GETs of rewrites',
  rewriteWrites: 'PUTs of rewrites',
  workers: 'workers',
  metadata: 'metadata',
  reads: 'reads',
  storage: 'storage',
} as const;
const PARTS = Object.keys(PART_NAMES) as (keyof typeof PART_NAMES)[];

export function simulationPage(result: SimResult): string {
  const [defaults] = result.variants;
  return htmlPage(
    'millrace compaction, simulated',
    [
      `<p>${escape(scalingText(result))}</p>`,
      `<p>To repeat it: <code>${escape(result.command)}</code>, in a checkout of the same version.</p>`,
      ...(defaults === undefined ? [] : defaultsSection(defaults, result)),
      ...comparisonSection(result.variants),
    ],
    BAR_STYLE,
  );
}

function defaultsSection(defaults: VariantResult, { workload }: SimResult): string[] {
  const { samples } = defaults;
  const days = samples.map(({ day }) => day);
  const scale = scaleOf(workload);
  const gibibytes = (bytes: number): number => (bytes * scale) / 1_024 ** 3;
  const generations = ['appends', 'merged once', 'merged twice', 'merged more, or compacted'];
  return [
    '<h2>The fleet, defaults</h2>',
    '<div class="plots">',
    linePlot({
      title: 'Objects by number of merges',
      note: 'over days',
      x: days,
      yText: shortScaled,
      lines: generations.map((name, index) => ({
        name,
        values: samples.map((sample) => sample.generations[index]! * scale),
      })),
    }),
    linePlot({
      title: 'GiB in objects',
      note: 'over days',
      x: days,
      yText: shortScaled,
      lines: [
        { name: 'stored', values: samples.map((sample) => gibibytes(sample.committedBytes + sample.deletingBytes)) },
        { name: 'live', values: samples.map((sample) => gibibytes(sample.liveBytes)) },
      ],
    }),
    '</div>',
    '<h2>Jobs of the simulated writer, defaults</h2>',
    htmlTable(JOB_HEADING, jobRows(defaults)),
  ];
}

function comparisonSection(variants: readonly VariantResult[]): string[] {
  const stacked = (title: string, parts: readonly (keyof typeof PART_NAMES)[]): string =>
    barChart(
      title,
      variants.map(({ name, figures: { dollars } }) => ({
        label: name,
        parts: parts.map((part, index) => ({ value: dollars[part], kind: `part-${index}` })),
        text: (1_000 * parts.reduce((sum, part) => sum + dollars[part], 0)).toFixed(2),
      })),
      { partNames: parts.map((part) => PART_NAMES[part]) },
    );
  return [
    '<h2>Dollars for 1,000 GiB written</h2>',
    stacked('dollars for 1,000 GiB written', PARTS),
    '<h2>The same without storage</h2>',
    stacked(
      'dollars for 1,000 GiB written, storage left out',
      PARTS.filter((part) => part !== 'storage'),
    ),
    '<h2>GETs for a GiB of one stream</h2>',
    barChart(
      'GETs for a GiB after merging',
      variants.map(({ name, figures: { readGetsPerGibAfter } }) => ({
        label: name,
        parts: [{ value: readGetsPerGibAfter, kind: 'part-0' }],
        text: readGetsPerGibAfter.toFixed(0),
      })),
    ),
    '<h2>All figures</h2>',
    htmlTable(
      ['', ...variants.map(({ name }) => name)],
      FIGURE_ROWS.map(({ title, of }) => [title.trim(), ...variants.map(({ figures }) => of(figures))]),
    ),
  ];
}
