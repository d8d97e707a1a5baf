/** The part of the report on millrace beside other engines. */
import { formatSpread, formatTick, formatValue } from '../format.ts';
import { isOwn } from '../peers/budgets.ts';
import type { PeerDescription, PeerResults, PeerRow, PeerWorkloadResult } from '../peers/results.ts';
import { spreadOf } from '../statistics.ts';
import type { Figure } from '../workload.ts';
import { type Bar, barChart } from './bars.ts';
import { type Cell, escape, htmlTable } from '../../src/report/html.ts';

/** Figures that get a chart; all others are in the tables. */
const CHARTED = new Set(['rate', 'scan', 'gets', 'time', 'disk bytes a user byte']);
const OVERVIEW = 'rate';

export function peerSection({ peers, absent, workloads }: PeerResults): string {
  const known = new Map(peers.map((peer) => [peer.name, peer]));
  return [
    '<h2 id="peers">Beside other engines</h2>',
    '<p>The same records, windows and machine; each run in a process of its own, in interleaved rounds. Bars are',
    'medians, thin lines the range over the rounds. An engine that is marked with * acknowledges what is not on',
    'disk yet: its figures are those of a weaker promise, it has one round, and it is never the best that millrace',
    'is judged by. The floor keeps no format, checksum or index: it copies the records into a file and syncs. Of',
    'servers, client and server count together.</p>',
    guaranteeTable(peers),
    ...absent.map(({ name, reason }) => `<p class="note">Without ${escape(name)}: ${escape(reason)}.</p>`),
    overview(workloads, peers),
    ...workloads.map((workload) => workloadSection(workload, known)),
  ].join('\n');
}

/** Label and guarantee as they stand beside a number. */
function labelOf({ name, durable }: PeerDescription): string {
  return durable ? name : `${name} *`;
}

function guaranteeNote({ durable }: PeerDescription): string {
  return durable ? 'on disk' : 'page cache';
}

function guaranteeTable(peers: readonly PeerDescription[]): string {
  return htmlTable(
    ['engine', 'after a power loss', 'when an append is acknowledged, the record is', 'versions'],
    peers.map((peer) => [
      labelOf(peer),
      { html: peer.durable ? '<span class="met">kept</span>' : '<span class="missed">may be gone</span>' },
      prose(peer.guarantee),
      prose(peer.versions === '' ? 'this repository' : peer.versions),
    ]),
  );
}

function prose(text: string): Cell {
  return { html: `<span class="prose">${escape(text)}</span>` };
}

/** All ingest rates in one table. */
function overview(workloads: readonly PeerWorkloadResult[], peers: readonly PeerDescription[]): string {
  const ingests = workloads.filter(({ figures }) => figures.some(({ name }) => name === OVERVIEW));
  if (ingests.length === 0) return '';
  const bests = ingests.map((workload) => bestDurable(workload, peers));
  const rows = peers.map((peer): Cell[] => [
    { html: `${escape(labelOf(peer))} <small class="note">${guaranteeNote(peer)}</small>` },
    ...ingests.map((workload, column): Cell => {
      const value = medianOf(workload, peer.name, OVERVIEW);
      if (value === undefined) return '-';
      const text = escape(formatValue(value, 'records/s'));
      return { html: peer.name === bests[column] ? `<strong>${text}</strong>` : text };
    }),
  ]);
  return [
    '<h3>Records ingested a second</h3>',
    '<p>Medians; <strong>bold</strong>: the best durable engine beside millrace. The names say record size and records',
    'in flight.</p>',
    htmlTable(['engine', ...ingests.map(({ name }) => name.replace('ingest-', ''))], rows),
  ].join('\n');
}

function bestDurable(workload: PeerWorkloadResult, peers: readonly PeerDescription[]): string | undefined {
  const rivals = peers.filter(({ name, durable }) => durable && !isOwn(name)).map(({ name }) => name);
  const rateOf = (name: string): number => medianOf(workload, name, OVERVIEW) ?? 0;
  return rivals.sort((left, right) => rateOf(right) - rateOf(left))[0];
}

function medianOf({ rows }: PeerWorkloadResult, peer: string, figure: string): number | undefined {
  const taken = rows.find((row) => row.peer === peer)?.samples[figure] ?? [];
  return taken.length === 0 ? undefined : spreadOf(taken).median;
}

function workloadSection(workload: PeerWorkloadResult, peers: ReadonlyMap<string, PeerDescription>): string {
  const { name, what, figures, rows } = workload;
  const rowLabel = (row: PeerRow): string => {
    const peer = peers.get(row.peer);
    return peer === undefined ? row.peer : labelOf(peer);
  };
  const failures = rows.flatMap(({ peer, failure }) =>
    failure === undefined ? [] : [`<p class="missed">${escape(`${peer} failed: ${failure}`)}</p>`],
  );
  return [
    `<h3>${escape(name)}</h3>`,
    `<p>${escape(what)}.</p>`,
    ...figures.filter((figure) => CHARTED.has(figure.name)).map((figure) => chart(workload, figure, peers)),
    '<details><summary>all figures</summary>',
    htmlTable(
      ['engine', ...figures.map((figure) => figure.name)],
      rows.map((row) => [rowLabel(row), ...figures.map((figure) => spreadText(row, figure))]),
    ),
    '</details>',
    ...failures,
  ].join('\n');
}

/** Best first, behind the floor. */
function chart(
  workload: PeerWorkloadResult,
  { name, unit, better }: Figure,
  peers: ReadonlyMap<string, PeerDescription>,
): string {
  const measured = workload.rows.flatMap(({ peer, samples }) => {
    const taken = samples[name] ?? [];
    return taken.length === 0 ? [] : [{ peer, spread: spreadOf(taken) }];
  });
  if (measured.length === 0) return '';
  const sign = better === 'higher' ? -1 : 1;
  measured.sort((left, right) => {
    const floorFirst = Number(right.peer === 'floor') - Number(left.peer === 'floor');
    return floorFirst || sign * (left.spread.median - right.spread.median);
  });
  const base = measured.find(({ peer }) => peer === 'floor') ?? measured.find(({ peer }) => peer === 'millrace');
  const bars = measured.map(({ peer, spread }): Bar => {
    const description = peers.get(peer);
    const value = formatValue(spread.median, unit);
    const ratio = base === undefined || base.peer === peer ? '' : ` · ${ratioText(spread.median / base.spread.median)}`;
    return {
      label: description === undefined ? peer : labelOf(description),
      ...(description === undefined ? {} : { note: guaranteeNote(description) }),
      parts: [{ value: spread.median, kind: kindOf(peer, description) }],
      range: [spread.min, spread.max],
      text: value + ratio,
    };
  });
  const ratios = base === undefined || measured.length === 1 ? '' : `; ratios are to ${theName(base.peer)}`;
  const note = `<span class="note">${escape(`${better} is better${ratios}`)}</span>`;
  const axis = (value: number): string => formatTick(value, unit);
  return `<h4>${escape(name)} ${note}</h4>\n${barChart(`${workload.name}: ${name}`, bars, { axis })}`;
}

function theName(peer: string): string {
  return peer === 'floor' ? 'the floor' : peer;
}

function ratioText(ratio: number): string {
  return `${ratio.toPrecision(ratio < 10 ? 2 : 3)}x`;
}

function kindOf(name: string, peer: PeerDescription | undefined): string {
  if (name === 'floor') return 'floor';
  if (isOwn(name)) return 'millrace';
  return peer?.durable === false ? 'volatile' : 'peer';
}

function spreadText({ samples }: PeerRow, { name, unit }: Figure): string {
  const taken = samples[name] ?? [];
  return taken.length === 0 ? '-' : formatSpread(spreadOf(taken), (value) => formatValue(value, unit));
}
