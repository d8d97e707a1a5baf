/** The top of the report: what a reader in a hurry takes away, and what the figures depend on. */
import { type Machine, machineText } from '../../src/cli/machine.ts';
import { type Cell, escape, htmlTable } from '../../src/report/html.ts';
import { formatValue } from '../format.ts';
import { BUDGET_HEADING, budgetCells, judgeBudgets, type JudgedBudget } from '../peers/budgets.ts';
import type { PeerResults } from '../peers/results.ts';
import { type Results, verdictOf } from '../results.ts';

type Run = Results | PeerResults;

export function summarySection(bench: Results | undefined, peers: PeerResults | undefined): string {
  const quick = [bench, peers].some((run) => run?.quick === true);
  return [
    '<p>millrace is an embedded stream storage engine for Node.js. Here it stands beside other engines that keep',
    'records, and beside the floor: what the disk and a copy of the same records cost on the same machine.</p>',
    contents(bench, peers),
    quick ? '<p class="missed">A quick run: it shows that the suite works, and its figures say nothing.</p>' : '',
    ...(peers === undefined ? [] : budgetSection(peers)),
    ...(bench === undefined ? [] : [targetText(bench)]),
  ].join('\n');
}

function contents(bench: Results | undefined, peers: PeerResults | undefined): string {
  const links = [
    ...(peers === undefined ? [] : [['budgets', 'Budgets']]),
    ['machine', 'The machine, and how to repeat it'],
    ...(peers === undefined ? [] : [['peers', 'Beside other engines']]),
    ...(bench === undefined ? [] : [['floor', 'Beside the floor']]),
  ].map(([id = '', name = '']) => `<a href="#${id}">${escape(name)}</a>`);
  return `<nav><p>${links.join(' · ')}</p></nav>`;
}

/** What a figure depends on, and how to get it again. */
export function factsSection(runs: readonly Run[]): string {
  const machines = new Map(runs.map(({ machine }) => [JSON.stringify(machine), machine]));
  return [
    '<h2 id="machine">The machine, and how to repeat it</h2>',
    ...[...machines.values()].map(machineBlock),
    '<p>In a checkout of the same version, on a machine with nothing else to do:</p>',
    `<pre>${runs.map((run) => escape(`# started ${startText(run)}\n${run.command}`)).join('\n')}</pre>`,
    '<p>A figure without its machine means nothing, and figures of two machines are not comparable; their ratios are,',
    'roughly.</p>',
  ].join('\n');
}

function machineBlock(machine: Machine): string {
  return `<pre>${escape(machineText(machine).trimEnd())}</pre>`;
}

function startText(run: Run): string {
  const duration = run.kind === 'peers' ? `, ${run.minutes.toFixed(0)} minutes, ingest of ${run.seconds} s a run` : '';
  return `${run.startedAt}${duration}`;
}

function budgetSection(peers: PeerResults): string[] {
  const budgets = judgeBudgets(peers);
  if (budgets.length === 0) return [];
  const met = budgets.filter(({ verdict }) => verdict === 'met').length;
  const whats = new Map(peers.workloads.map(({ name, what }) => [name, what]));
  const cards = budgets
    .filter(({ subject, figure }) => subject === 'times best' && (figure === 'rate' || figure === 'scan'))
    .flatMap((budget) => card(budget, whats.get(budget.workload) ?? budget.workload));
  return [
    `<dl class="cards">${cards.join('')}</dl>`,
    '<h2 id="budgets">Budgets beside the best engine with the same promise</h2>',
    `<p>${met} of ${budgets.length} met, judged by medians. Only engines whose acknowledgement means that the record`,
    'is on disk can be the best. millrace has a promise for each record.</p>',
    htmlTable(
      BUDGET_HEADING,
      budgets.map((budget): Cell[] => {
        const [name = '', , ...figures] = budgetCells(budget);
        return [{ html: `<span class="prose">${escape(name)}</span>` }, verdictCell(budget.verdict), ...figures];
      }),
    ),
  ];
}

function card({ figure, unit, millrace, best }: JudgedBudget, what: string): string[] {
  if (millrace === undefined || best === undefined) return [];
  const name = figure === 'rate' ? `ingest of ${what}` : `${figure} of ${what.replace(/,.*/, '')}`;
  return [
    `<div><dt>${escape(name)}</dt><dd>${escape(formatValue(millrace, unit))}</dd>` +
      `<dt>${escape(`${(millrace / best.value).toFixed(1)} times ${best.peer}`)}</dt></div>`,
  ];
}

function verdictCell(verdict: JudgedBudget['verdict']): Cell {
  if (verdict === 'not measured') return verdict;
  return { html: `<span class="${verdict}">${verdict}</span>` };
}

function targetText({ workloads }: Results): string {
  const judged = workloads.flatMap(({ name, figures }) =>
    figures.map((figure) => ({ name: `${name} ${figure.name}`, verdict: verdictOf(figure) })),
  );
  const missed = judged.filter(({ verdict }) => verdict === 'missed').map(({ name }) => name);
  const count = judged.filter(({ verdict }) => verdict !== 'no target').length;
  if (count === 0) return '';
  const which = missed.length === 0 ? '' : ` Missed: ${missed.join(', ')}.`;
  return `<p>Targets beside the floor: ${count - missed.length} of ${count} met.${escape(which)}</p>`;
}
