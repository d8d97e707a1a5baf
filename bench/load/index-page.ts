/** The page that leads to those of the load tests. */
import { keptUp, type LoadResult } from '../../src/cli/load/result.ts';
import { machineText } from '../../src/cli/machine.ts';
import { bytes } from '../../src/cli/text.ts';
import { scaled, significant } from '../../src/report/format.ts';
import { escape, htmlTable } from '../../src/report/html.ts';
import { htmlPage } from '../../src/report/page.ts';
import type { Scenario } from './scenarios.ts';

export interface ScenarioResult {
  readonly scenario: Scenario;
  readonly result: LoadResult;
}

export const ROW_HEADING = [
  'test',
  'records/s',
  'p50 ms',
  'p99 ms',
  'p99.9 ms',
  'read p99 ms',
  'memory',
  'cores',
  'kept up',
] as const;

export function loadRow({ scenario, result }: ScenarioResult): string[] {
  const { acknowledged, seconds, latency, endToEnd, peakResidentBytes, processorSeconds } = result;
  return [
    scenario.name,
    scaled(acknowledged / seconds),
    ...[latency.p50, latency.p99, latency.p999].map(significant),
    endToEnd.count === 0 ? '-' : significant(endToEnd.p99),
    bytes(peakResidentBytes),
    (processorSeconds / seconds).toFixed(2),
    keptUp(result) ? 'yes' : 'no',
  ];
}

/** `command` made the pages; `quick` says that it was a run whose figures say nothing. */
export function indexPage(results: readonly ScenarioResult[], command: string, quick: boolean): string {
  const rows = results.map((row) => {
    const [name = '', ...figures] = loadRow(row);
    return [{ html: `<a href="${escape(name)}.html">${escape(name)}</a>: ${escape(row.scenario.what)}` }, ...figures];
  });
  const machine = results[0]?.result.machine;
  return htmlPage('millrace under load', [
    '<p>Records are sent at a set rate, whatever becomes of the earlier ones, and each counts from when it was due.',
    'Each test has a page with its plots.</p>',
    quick ? '<p class="missed">A quick run: it shows that the tests work, and its figures say nothing.</p>' : '',
    htmlTable(ROW_HEADING, rows),
    machine === undefined ? '' : `<h2>Machine</h2><pre>${escape(machineText(machine).trimEnd())}</pre>`,
    `<p>To repeat it: <code>${escape(command)}</code>, in a checkout of the same version.</p>`,
  ]);
}
