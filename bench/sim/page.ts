/** The report: one HTML file that needs nothing else, in light and dark. */
import { escape, htmlTable } from '../report/html.ts';
import { scaleOf } from './cost.ts';
import { barPlot, linePlot } from './plot.ts';
import type { SimResult, VariantResult } from './result.ts';
import { FIGURE_ROWS, JOB_HEADING, jobRows, scalingText } from './table.ts';

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2128; --soft: #59636e; --paper: #ffffff; --line: #d1d9e0; --panel: #f6f8fa;
  --c0: #0969da; --c1: #1a7f37; --c2: #bf8700; --c3: #8250df; --c4: #cf222e;
  --c5: #57606a; --c6: #0a7ea4; --c7: #b35900; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9198a1; --paper: #0d1117; --line: #3d444d; --panel: #161b22;
    --c0: #58a6ff; --c1: #3fb950; --c2: #d29922; --c3: #a371f7; --c4: #f85149;
    --c5: #8b949e; --c6: #39c5cf; --c7: #f0883e; }
}
body { margin: 0 auto; padding: 1.5rem; max-width: 60rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1, h2 { line-height: 1.25; margin: 1.5em 0 0.5em; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.8125rem; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; }
thead th, .note { color: var(--soft); }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--ink); } svg .label { text-anchor: end; fill: var(--soft); } svg .axis { stroke: var(--line); }
.key { display: inline-block; width: 0.7em; height: 0.7em; margin: 0 0.3em 0 0.9em; }
`;
const COLOURS = Array.from(
  { length: 8 },
  (_, index) =>
    `rect.part-${index} { fill: var(--c${index}); } .key.part-${index} { background: var(--c${index}); } ` +
    `.line.part-${index} { fill: none; stroke: var(--c${index}); stroke-width: 2; }`,
).join('\n');

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
    `<style>${STYLE}${COLOURS}</style>`,
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
