/** `npm run bench`: every workload in a process of its own, one after the other. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Ballast } from './ballast.ts';
import { compare, comparisonText } from './check.ts';
import { machineFacts, requireDisk } from '../src/cli/machine.ts';
import { type BenchOptions, COMMITTED_RESULTS, HELP, makeDirectory, parseBenchOptions } from './options.ts';
import { resultsText } from './output.ts';
import { runChild } from './processes.ts';
import { readResults, type Results, RESULTS_VERSION, type WorkloadResult, writeResults } from './results.ts';
import type { WorkloadJob } from './workload-child.ts';
import type { Workload } from './workload.ts';
import { WORKLOADS } from './workloads.ts';

const ENTRY = 'workload-child.js';
const TIMEOUT = 30 * 60_000;
const TIMEOUT_QUICK = 120_000;
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

try {
  const options = parseBenchOptions(process.argv.slice(2));
  if (options.help) process.stdout.write(HELP);
  else if (options.list) process.stdout.write(WORKLOADS.map(({ name, what }) => `${name}: ${what}\n`).join(''));
  else process.exitCode = await bench(options);
} catch (error) {
  process.stderr.write(`npm run bench: ${messageOf(error)}\n`);
  process.exitCode = EXIT_USAGE;
}

async function bench(options: BenchOptions): Promise<number> {
  const chosen = chosenWorkloads(options.only);
  // Before hours of measuring, not after them.
  const before = options.check ? earlierResults() : undefined;
  const dir = mkdtempSync(join(makeDirectory(options.dir), 'millrace-bench-'));
  const ballast = new Ballast(dir, options.ballastBytes);
  try {
    requireDisk(dir);
    const results = await run(options, chosen, dir, ballast);
    process.stdout.write(resultsText(results));
    if (options.json !== undefined) writeResults(options.json, results);
    const changes = before === undefined ? [] : compare(before, results);
    if (before !== undefined) process.stdout.write(comparisonText(changes, before, results));
    const failed = results.workloads.some(({ failure }) => failure !== undefined);
    return failed || changes.some(({ worse }) => worse) ? EXIT_FAILED : 0;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function earlierResults(): Results {
  if (existsSync(COMMITTED_RESULTS)) return readResults(COMMITTED_RESULTS);
  throw new Error(
    'there is no bench/results.json to check against: make it with npm run bench -- --json bench/results.json',
  );
}

function chosenWorkloads(only: readonly string[]): Workload[] {
  const chosen = WORKLOADS.filter(({ name }) => only.length === 0 || only.some((part) => name.includes(part)));
  if (chosen.length === 0) throw new Error(`no workload has ${only.join(' or ')} in its name: see --list`);
  return chosen;
}

async function run(
  options: BenchOptions,
  chosen: readonly Workload[],
  dir: string,
  ballast: Ballast,
): Promise<Results> {
  const startedAt = new Date().toISOString();
  const workloads: WorkloadResult[] = [];
  for (const [index, workload] of chosen.entries()) {
    process.stderr.write(`${index + 1}/${chosen.length} ${workload.name}: ${workload.what}\n`);
    ballast.fill();
    workloads.push(await runWorkload(workload, options, makeDirectory(join(dir, workload.name))));
    rmSync(join(dir, workload.name), { recursive: true, force: true });
  }
  const command = ['npm run bench --', ...process.argv.slice(2)].join(' ');
  const { quick } = options;
  return { version: RESULTS_VERSION, kind: 'bench', startedAt, command, quick, machine: machineFacts(dir), workloads };
}

/** A workload that fails says so and costs the others nothing. */
async function runWorkload(workload: Workload, options: BenchOptions, dir: string): Promise<WorkloadResult> {
  const { name, what, floor } = workload;
  const { quick, rounds, sustainedBytes } = options;
  const job: WorkloadJob = { name, dir, quick, rounds, sustainedBytes };
  const begun = performance.now();
  try {
    return (await runChild(ENTRY, job, { timeout: quick ? TIMEOUT_QUICK : TIMEOUT })) as WorkloadResult;
  } catch (error) {
    const seconds = (performance.now() - begun) / 1_000;
    return { name, what, floor, figures: [], failure: messageOf(error), seconds };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
