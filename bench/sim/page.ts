/** The report: one HTML file that needs nothing else, in light and dark. */
import { escape, htmlTable } from '../report/html.ts';
import { scaleOf } from './cost.ts';
import { barPlot, linePlot } from './plot.ts';
import type { SimResult, VariantResult } from './result.ts';
import { PAGE_STYLE } from './style.ts';
import { FIGURE_ROWS, JOB_HEADING, jobRows, scalingText } from './table.ts';

const PARTS = ['ingest', 'rewriteReads', 'rewriteWrites', 'workers', 'storage', 'metadata', 'reads'] as const;
const PART_NAMES = [
  'PUTs of appends',
  'GETs of rewrites',
  'PUTs of rewrites',
  'workers',
  'storage',
  'metadata',
  'reads',
] as const;

export function simulationPage(result: SimResult): string {
  const [defaults] = result.variants;
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<title>millrace compaction, simulated</title>',
    `<style>${PAGE_STYLE}</style>`,
    '</head>',
    '<body>',
    '<h1>millrace compaction, simulated</h1>',
    `<p>${escape(scalingText(result))}</p>`,
    `<p>To repeat it: <code>${escape(result.command)}</code>, in a checkout of the same version.</p>`,
    ...(defaults === undefined ? [] : defaultsSection(defaults, result)),
    ...comparisonSection(result.variants),
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

function defaultsSection(defaults: VariantResult, { workload }: SimResult): string[] {
  const { samples } = defaults;
  const days = samples.map(({ day }) => day);
  const scale = scaleOf(workload);
  const gibibytes = (bytes: number): number => (bytes * scale) / 1_024 ** 3;
  const generations = ['appends', 'merged once', 'merged twice', 'merged more, or compacted'];
  return [
    '<h2>Objects of the fleet, defaults</h2>',
    linePlot(
      'objects by number of merges, over days',
      days,
      generations.map((name, index) => ({ name, values: samples.map((sample) => sample.generations[index]! * scale) })),
    ),
    '<h2>GiB of the fleet, defaults</h2>',
    linePlot('GiB in objects, over days', days, [
      { name: 'stored', values: samples.map((sample) => gibibytes(sample.committedBytes + sample.deletingBytes)) },
      { name: 'live', values: samples.map((sample) => gibibytes(sample.liveBytes)) },
    ]),
    '<h2>Jobs of the simulated writer, defaults</h2>',
    htmlTable(JOB_HEADING, jobRows(defaults)),
  ];
}

function comparisonSection(variants: readonly VariantResult[]): string[] {
  const bars = (parts: readonly (typeof PARTS)[number][]): string =>
    barPlot(
      'dollars for 1,000 GiB written',
      PARTS.map((part, index) => (parts.includes(part) ? PART_NAMES[index]! : '')).filter((name) => name !== ''),
      variants.map(({ name, figures }) => ({ name, parts: parts.map((part) => figures.dollars[part] * 1_000) })),
      2,
    );
  return [
    '<h2>Dollars for 1,000 GiB written</h2>',
    bars(PARTS),
    '<h2>The same without storage</h2>',
    bars(PARTS.filter((part) => part !== 'storage')),
    '<h2>GETs for a GiB of one stream</h2>',
    barPlot(
      'GETs for a GiB after merging',
      ['after merging'],
      variants.map(({ name, figures }) => ({ name, parts: [figures.readGetsPerGibAfter] })),
      0,
    ),
    '<h2>All figures</h2>',
    htmlTable(
      ['', ...variants.map(({ name }) => name)],
      FIGURE_ROWS.map(({ title, of }) => [title.trim(), ...variants.map(({ figures }) => of(figures))]),
    ),
  ];
}
