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
  return htmlPage('The heat death of a stream, averted', [
    `<p>${escape(scenarioText(result))} Were every commit written, and counted by retention, they would push the ` +
      'user data out within a minute.</p>',
    `<p>To repeat it: <code>${escape(result.command)}</code>, in a checkout of the same version.</p>`,
    '<h2>What has to hold</h2>',
    htmlTable(
      ['', 'found', ''],
      promisesOf(all).map(({ text, value, kept }) => [text, value, kept ? 'holds' : 'broken']),
    ),
    '<h2>What each measure buys</h2>',
    htmlTable(
      ['measure', 'what', 'with it', 'without'],
      measuresOf(result.variants, result.scenario).map((row) => [
        row.measure,
        row.what,
        amount(row.with, row.unit),
        amount(row.without, row.unit),
      ]),
    ),
    '<h2>MiB stored, all on</h2>',
    plot('MiB stored, with everything on', all, [
      ['user data', ({ keptUserBytes }) => keptUserBytes / MEBIBYTE],
      ['tracking', ({ trackingBytes }) => trackingBytes / MEBIBYTE],
    ]),
    '<h2>Percent of tracking in what is stored, all on</h2>',
    plot('percent of tracking in what is stored', all, [
      ['tracking', (sample) => 100 * storedShare(sample)],
      ['budget', () => 100 * all.settings.tracking.budget],
    ]),
    ...result.variants.slice(1).flatMap((variant) => [
      `<h2>MiB stored, ${escape(variant.variant.name)}</h2>`,
      `<p>${escape(variant.variant.text)}</p>`,
      plot(`MiB stored: ${variant.variant.name}`, variant, [
        ['user data', ({ keptUserBytes }) => keptUserBytes / MEBIBYTE],
        ['tracking', ({ trackingBytes }) => trackingBytes / MEBIBYTE],
        ['user data if all bytes counted', ({ keptIfAllCounted }) => keptIfAllCounted / MEBIBYTE],
        ['kept for tracking alone', ({ heldBytes }) => heldBytes / MEBIBYTE],
      ]),
    ]),
  ]);
}

function plot(
  title: string,
  { samples }: VariantResult,
  lines: readonly [string, (sample: Sample) => number][],
): string {
  return linePlot({
    title,
    note: 'over days',
    x: samples.map(({ hours }) => hours / 24),
    lines: lines.map(([name, of]) => ({ name, values: samples.map(of) })),
  });
}

export function amount(value: number, unit: Measure['unit']): string {
  if (unit === 'count') return Math.round(value).toLocaleString('en-US');
  if (value < 1_024) return `${significant(value)} B`;
  return value < MEBIBYTE ? `${significant(value / 1_024)} KiB` : `${significant(value / MEBIBYTE)} MiB`;
}
