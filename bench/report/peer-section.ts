/** The part of the report on millrace beside other engines. */
import { formatSpread, formatValue } from '../format.ts';
import type { PeerDescription, PeerResults, PeerRow, PeerWorkloadResult } from '../peers/results.ts';
import { spreadOf } from '../statistics.ts';
import type { Figure } from '../workload.ts';
import { type Bar, barChart } from './bars.ts';
import { escape, htmlTable } from '../../src/report/html.ts';

/** Figures that get a chart; all others are in the tables. */
const CHARTED = new Set(['rate', 'scan', 'gets', 'time', 'disk bytes a user byte']);

export function peerSection({ peers, workloads }: PeerResults): string {
  const kinds = new Map(peers.map((peer) => [peer.name, kindOf(peer)]));
  return [
    '<h2>Beside other engines</h2>',
    '<p>The same records, windows and machine; each run in a process of its own, in interleaved rounds. An engine',
    'that is marked with * acknowledges what is not on disk yet: its figures are those of a weaker promise.</p>',
    htmlTable(
      ['engine', 'versions', 'when an append is acknowledged, the record is'],
      peers.map(({ name, versions, guarantee }) => [
        name,
        versions === '' ? 'this repository' : versions,
        { html: `<span class="prose">${escape(guarantee)}</span>` },
      ]),
    ),
    ...workloads.map((workload) => workloadSection(workload, kinds)),
  ].join('\n');
}

function kindOf({ name, durable }: PeerDescription): string {
  if (name === 'floor') return 'floor';
  if (name.startsWith('millrace')) return 'millrace';
  return durable ? 'peer' : 'volatile';
}

function workloadSection(workload: PeerWorkloadResult, kinds: ReadonlyMap<string, string>): string {
  const { name, what, figures, rows } = workload;
  const labelOf = (row: PeerRow): string => (kinds.get(row.peer) === 'volatile' ? `${row.peer} *` : row.peer);
  const charts = figures
    .filter((figure) => CHARTED.has(figure.name))
    .map((figure) => {
      const bars = rows.flatMap((row) => barOf(row, figure, labelOf(row), kinds.get(row.peer) ?? 'peer'));
      const title = `${figure.name}, ${figure.better} is better`;
      return bars.length === 0 ? '' : `<h4>${escape(title)}</h4>\n${barChart(`${name}: ${title}`, bars)}`;
    });
  const failures = rows.flatMap(({ peer, failure }) =>
    failure === undefined ? [] : [`<p class="missed">${escape(`${peer} failed: ${failure}`)}</p>`],
  );
  return [
    `<h3>${escape(name)}</h3>`,
    `<p>${escape(what)}.</p>`,
    ...charts,
    '<details><summary>all figures</summary>',
    htmlTable(
      ['engine', ...figures.map((figure) => figure.name)],
      rows.map((row) => [labelOf(row), ...figures.map((figure) => spreadText(row, figure))]),
    ),
    '</details>',
    ...failures,
  ].join('\n');
}

function barOf({ samples }: PeerRow, { name, unit }: Figure, label: string, kind: string): Bar[] {
  const taken = samples[name] ?? [];
  if (taken.length === 0) return [];
  const spread = spreadOf(taken);
  const parts = [{ value: spread.median, kind }];
  return [{ label, parts, range: [spread.min, spread.max], text: formatValue(spread.median, unit) }];
}

function spreadText({ samples }: PeerRow, { name, unit }: Figure): string {
  const taken = samples[name] ?? [];
  return taken.length === 0 ? '-' : formatSpread(spreadOf(taken), (value) => formatValue(value, unit));
}
