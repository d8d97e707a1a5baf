/** The report on the heat death as a page. */
import { significant } from '../../src/report/format.ts';
import { escape, htmlTable } from '../../src/report/html.ts';
import { linePlot } from '../../src/report/line-plot.ts';
import { htmlPage } from '../../src/report/page.ts';
import { type Measure, measuresOf, promisesOf, storedShare, type VariantResult } from './figures.ts';
import type { Sample, ScenarioFacts } from './scenario.ts';

const MEBIBYTE = 1_024 * 1_024;

export interface HeatDeathResult {
  readonly command: string;
  readonly scenario: ScenarioFacts;
  readonly variants: readonly VariantResult[];
}

export function scenarioText({ scenario, variants }: HeatDeathResult): string {
  const { readers, commitsPerSecond, recordBytes } = scenario;
  const days = (variants[0]?.seconds ?? 0) / 86_400;
  return (
    `${significant(days)} simulated days of one record of ${recordBytes} bytes a second, with ${readers} readers ` +
    `that commit ${commitsPerSecond} times a second each, in 64 MiB of retention.`
  );
}

export function heatDeathPage(result: HeatDeathResult): string {
  const [all] = result.variants;
  if (all === undefined) return '';
  return htmlPage(
    'The heat death of a stream, averted',
    [
      `<p>${escape(scenarioText(result))} Were every commit written, and counted by retention, they would push the ` +
        'user data out within a minute.</p>',
      `<p>To repeat it: <code>${escape(result.command)}</code>, in a checkout of the same version.</p>`,
      '<h2>What has to hold</h2>',
      htmlTable(
        ['promise', 'found', 'verdict'],
        promisesOf(all).map(({ text, value, kept }) => [text, value, kept ? 'holds' : 'broken']),
      ),
      '<h2>What each measure buys</h2>',
      htmlTable(
        ['measure', 'with it', 'without'],
        measuresOf(result.variants, result.scenario).map((row) => [
          `${row.measure}: ${row.what}`,
          amount(row.with, row.unit),
          amount(row.without, row.unit),
        ]),
      ),
      '<h2>With every measure</h2>',
      '<p>User data fills the retention and stays there. A young stream is mostly tracking, until its first segments ' +
        'are compacted.</p>',
      '<div class="plots">',
      plot('MiB stored', all, [USER_DATA, TRACKING]),
      plot('tracking, percent of what is stored', all, [['tracking', (sample) => 100 * storedShare(sample)]], {
        name: 'budget',
        value: 100 * all.settings.tracking.budget,
      }),
      '</div>',
      '<h2>Without one of them</h2>',
      '<p>Each for as long as it takes to see the difference.</p>',
      '<div class="plots">',
      ...result.variants
        .slice(1)
        .map((variant) =>
          plot(`${variant.variant.name}: ${variant.variant.text}; MiB stored`, variant, [
            USER_DATA,
            TRACKING,
            ['user data if all bytes counted', ({ keptIfAllCounted }) => keptIfAllCounted / MEBIBYTE],
            ['kept for tracking alone', ({ heldBytes }) => heldBytes / MEBIBYTE],
          ]),
        ),
      '</div>',
    ],
    NARROW,
  );
}

type PlottedLine = readonly [string, (sample: Sample) => number];

const USER_DATA: PlottedLine = ['user data', ({ keptUserBytes }) => keptUserBytes / MEBIBYTE];
const TRACKING: PlottedLine = ['tracking', ({ trackingBytes }) => trackingBytes / MEBIBYTE];
/** Names of rows are sentences here: on a phone they take several lines, so that the figures beside them are seen. */
const NARROW = '@media (max-width: 40rem) { tbody th { white-space: normal; } th, td { padding: 0.2rem 0.3rem; } }';

function plot(
  title: string,
  { samples }: VariantResult,
  lines: readonly PlottedLine[],
  limit?: { readonly name: string; readonly value: number },
): string {
  const last = samples.at(-1)?.hours ?? 0;
  const [unit, hours] =
    last < 1 ? (['minutes', 1 / 60] as const) : last < 48 ? (['hours', 1] as const) : (['days', 24] as const);
  return linePlot({
    title,
    note: `over ${unit}`,
    x: samples.map((sample) => sample.hours / hours),
    lines: lines.map(([name, of]) => ({ name, values: samples.map(of) })),
    ...(limit === undefined ? {} : { limit }),
  });
}

export function amount(value: number, unit: Measure['unit']): string {
  if (unit === 'count') return Math.round(value).toLocaleString('en-US');
  if (value < 1_024) return `${significant(value)} B`;
  return value < MEBIBYTE ? `${significant(value / 1_024)} KiB` : `${significant(value / MEBIBYTE)} MiB`;
}
