/** A comparison for people. */
import { table } from '../../src/cli/text.ts';
import { machineText } from '../../src/cli/machine.ts';
import { formatSpread, formatValue } from '../format.ts';
import { spreadOf } from '../statistics.ts';
import { BUDGET_HEADING, budgetCells, judgeBudgets } from './budgets.ts';
import type { PeerDescription, PeerResults, PeerRow, PeerWorkloadResult } from './results.ts';

export function peerResultsText(results: PeerResults): string {
  const { peers, absent, workloads, machine, quick, seconds, minutes } = results;
  return [
    machineText(machine),
    table(
      ['engine', 'versions', 'when an append is acknowledged, the record is'],
      peers.map(({ name, versions, guarantee }) => [name, versions, guarantee]),
    ),
    ...absent.map(({ name, reason }) => `without ${name}: ${reason}`),
    ...workloads.map((workload) => workloadText(workload, peers)),
    ...budgetsText(results),
    'Median and range over the rounds. * marks engines that acknowledge what is not on disk: one round, no comparison.',
    `Ingest of at most ${seconds} s a run; ${minutes.toFixed(1)} minutes in all.`,
    ...(quick ? ['This was a quick run: it shows that the suite works, and its figures say nothing.'] : []),
    '',
  ].join('\n');
}

function budgetsText(results: PeerResults): string[] {
  const budgets = judgeBudgets(results);
  if (budgets.length === 0) return [];
  const met = budgets.filter(({ verdict }) => verdict === 'met').length;
  return [
    table(BUDGET_HEADING, budgets.map(budgetCells)),
    `${met} of ${budgets.length} budgets met, judged by medians; engines with * are never the best.`,
  ];
}

function workloadText({ name, what, figures, rows }: PeerWorkloadResult, peers: readonly PeerDescription[]): string {
  const volatile = new Set(peers.filter(({ durable }) => !durable).map((peer) => peer.name));
  const heading = ['engine', ...figures.map((figure) => figure.name)];
  const lines = rows.map((row) => [
    volatile.has(row.peer) ? `${row.peer} *` : row.peer,
    ...figures.map(({ name: figure, unit }) => cell(row, figure, (value) => formatValue(value, unit))),
  ]);
  const failures = rows.flatMap(({ peer, failure }) => (failure === undefined ? [] : [`${peer} failed: ${failure}\n`]));
  return `${name}: ${what}\n${table(heading, lines)}${failures.join('')}`;
}

function cell({ samples }: PeerRow, figure: string, format: (value: number) => string): string {
  const taken = samples[figure] ?? [];
  return taken.length === 0 ? '-' : formatSpread(spreadOf(taken), format);
}
