/** The report of a load test: one HTML file with its plots. */
import { scaled, short, shortScaled, significant } from '../../report/format.ts';
import { escape, htmlTable } from '../../report/html.ts';
import { linePlot, type LinePlot } from '../../report/line-plot.ts';
import { htmlPage } from '../../report/page.ts';
import { percentileScale } from '../../report/scale.ts';
import { machineText } from '../machine.ts';
import { bytes, count } from '../text.ts';
import type { Percentiles } from './histogram.ts';
import { keptUp, type LoadResult, type LoadSample } from './result.ts';
import { castText, scheduleText, verdictText } from './text.ts';

const MEBIBYTE = 1_024 * 1_024;
const NINES = 5;

export function loadPage(result: LoadResult): string {
  return htmlPage('millrace under load', [
    `<p>${escape(scheduleText(result))}; ${escape(castText(result.settings))}.</p>`,
    `<p class="${keptUp(result) ? 'met' : 'missed'}">${escape(capitalized(verdictText(result)))}.</p>`,
    cards(result),
    '<h2>Latency</h2>',
    '<p>Every record counts from when it was due, not from when it was sent: a stall delays all that came due in it,',
    'and all of them show here.</p>',
    '<div class="plots">',
    latencyPlot(result, 'Due to acknowledged', ({ latency }) => latency),
    ...(result.endToEnd.count === 0
      ? []
      : [latencyPlot(result, 'Due to read by a follower', ({ endToEnd }) => endToEnd)]),
    percentilePlot(result),
    '</div>',
    percentileTable(result),
    '<h2>Throughput and what it takes</h2>',
    '<div class="plots">',
    ...resourcePlots(result),
    '</div>',
    '<h2>Storage and compaction</h2>',
    '<div class="plots">',
    ...storagePlots(result),
    '</div>',
    '<h2>Machine</h2>',
    `<pre>${escape(machineText(result.machine).trimEnd())}\nstarted      ${escape(result.startedAt)}</pre>`,
    `<p>To repeat it: <code>${escape(result.command)}</code></p>`,
  ]);
}

function cards({
  acknowledged,
  seconds,
  settings,
  latency,
  endToEnd,
  peakResidentBytes,
  processorSeconds,
}: LoadResult): string {
  const rate = acknowledged / seconds;
  const facts: (readonly [string, string])[] = [
    ['acknowledged', `${scaled(rate)}/s`],
    ['user data', `${bytes(rate * settings.recordBytes)}/s`],
    ['p50', `${significant(latency.p50)} ms`],
    ['p99', `${significant(latency.p99)} ms`],
    ['p99.9', `${significant(latency.p999)} ms`],
    ['slowest', `${significant(latency.max)} ms`],
    ...(endToEnd.count === 0 ? [] : [['read p99', `${significant(endToEnd.p99)} ms`] as const]),
    ['memory at most', bytes(peakResidentBytes)],
    ['cores in use', (processorSeconds / seconds).toFixed(2)],
  ];
  return `<dl class="cards">${facts
    .map(([name, value]) => `<div><dt>${escape(name)}</dt><dd>${escape(value)}</dd></div>`)
    .join('')}</dl>`;
}

/** A plot over the time of the test. */
function overTime(result: LoadResult, plot: Omit<LinePlot, 'x' | 'xText'>): string {
  return linePlot({
    ...plot,
    x: result.samples.map(({ seconds }) => seconds),
    xText: (value) => `${short(value)} s`,
  });
}

function valuesOf<T>(result: LoadResult, of: (sample: LoadSample) => T): T[] {
  return result.samples.map(of);
}

function latencyPlot(result: LoadResult, title: string, of: (sample: LoadSample) => Percentiles | undefined): string {
  const values = (pick: (percentiles: Percentiles) => number): (number | undefined)[] =>
    valuesOf(result, (sample) => {
      const percentiles = of(sample);
      return percentiles && pick(percentiles);
    });
  return overTime(result, {
    title,
    note: 'ms, logarithmic',
    scale: 'log',
    lines: [
      { name: 'p50', values: values(({ p50 }) => p50) },
      { name: 'p99', values: values(({ p99 }) => p99) },
      { name: 'p99.9', values: values(({ p999 }) => p999) },
      { name: 'slowest', values: values(({ max }) => max) },
    ],
  });
}

function percentilePlot({ latencyCurve, endToEndCurve }: LoadResult): string {
  const percentiles = [...new Set([...latencyCurve, ...endToEndCurve].map(([percentile]) => percentile))];
  percentiles.sort((left, right) => left - right);
  const values = (curve: LoadResult['latencyCurve']): (number | undefined)[] => {
    const byPercentile = new Map(curve);
    return percentiles.map((percentile) => byPercentile.get(percentile));
  };
  return linePlot({
    title: 'By percentile',
    note: 'ms, logarithmic, whole test',
    x: percentiles,
    xScale: percentileScale(NINES),
    xText: (value) => `${Number(value.toFixed(NINES - 1))} %`,
    scale: 'log',
    lines: [
      { name: 'due to acknowledged', values: values(latencyCurve) },
      ...(endToEndCurve.length === 0 ? [] : [{ name: 'due to read', values: values(endToEndCurve) }]),
    ],
  });
}

function percentileTable({ latency, endToEnd, lateness }: LoadResult): string {
  const row = (name: string, { count: records, mean, p50, p90, p99, p999, p9999, max }: Percentiles): string[] => [
    name,
    count(records),
    ...[mean, p50, p90, p99, p999, p9999, max].map(significant),
  ];
  return htmlTable(
    ['milliseconds', 'records', 'mean', 'p50', 'p90', 'p99', 'p99.9', 'p99.99', 'slowest'],
    [
      row('due to acknowledged', latency),
      ...(endToEnd.count === 0 ? [] : [row('due to read', endToEnd)]),
      row('due to sent: the test itself', lateness),
    ],
  );
}

function resourcePlots(result: LoadResult): string[] {
  return [
    overTime(result, {
      title: 'Records a second',
      yText: shortScaled,
      lines: [
        { name: 'due', values: valuesOf(result, ({ dueRate }) => dueRate) },
        { name: 'acknowledged', values: valuesOf(result, ({ acknowledgedRate }) => acknowledgedRate) },
        ...(result.endToEnd.count === 0
          ? []
          : [{ name: 'read by all followers', values: valuesOf(result, ({ receivedRate }) => receivedRate) }]),
      ],
    }),
    overTime(result, {
      title: 'Memory',
      note: 'MiB; the dashed line is the ring, allocated once',
      lines: [
        { name: 'resident', values: valuesOf(result, ({ residentBytes }) => residentBytes / MEBIBYTE) },
        { name: 'JavaScript heap', values: valuesOf(result, ({ heapBytes }) => heapBytes / MEBIBYTE) },
      ],
      limit: { name: 'ring', value: (result.slots * result.slotBytes) / MEBIBYTE },
    }),
    overTime(result, {
      title: 'Ring',
      note: 'slots whose records are in no segment yet',
      lines: [{ name: 'slots in use', values: valuesOf(result, ({ slotsInUse }) => slotsInUse) }],
      limit: { name: 'all slots', value: result.slots },
    }),
    overTime(result, {
      title: 'Records in flight',
      note: 'sent and not acknowledged',
      yText: shortScaled,
      lines: [{ name: 'in flight', values: valuesOf(result, ({ inFlight }) => inFlight) }],
    }),
    overTime(result, {
      title: 'Cores in use',
      lines: [{ name: 'cores', values: valuesOf(result, ({ processors }) => processors) }],
      limit: { name: 'all cores', value: result.machine.cores },
    }),
    overTime(result, {
      title: 'Event-loop delay',
      note: 'p99, ms',
      lines: [{ name: 'p99', values: valuesOf(result, ({ loopDelay }) => loopDelay) }],
    }),
  ];
}

function storagePlots(result: LoadResult): string[] {
  return [
    overTime(result, {
      title: 'Compaction backlog',
      note: 'objects',
      lines: [
        { name: 'live', values: valuesOf(result, ({ objects }) => objects) },
        { name: 'waiting for deletion', values: valuesOf(result, ({ deletingObjects }) => deletingObjects) },
      ],
    }),
    overTime(result, {
      title: 'Dead bytes not deleted yet',
      note: 'MiB',
      lines: [{ name: 'dead', values: valuesOf(result, ({ deadBytes }) => deadBytes / MEBIBYTE) }],
    }),
    overTime(result, {
      title: 'Compaction jobs',
      lines: [
        { name: 'done', values: valuesOf(result, ({ compactionJobs }) => compactionJobs) },
        { name: 'running', values: valuesOf(result, ({ compactionRunning }) => compactionRunning) },
      ],
    }),
  ];
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
