/** `npm run bench:load`: load tests one after the other, each a process of its own with a page of its own. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { LoadResult } from '../../src/cli/load/result.ts';
import { table } from '../../src/cli/text.ts';
import { requireDisk } from '../../src/cli/machine.ts';
import { makeDirectory, workingDirectory } from '../options.ts';
import { indexPage, loadRow, ROW_HEADING, type ScenarioResult } from './index-page.ts';
import { argumentsOf, quick, type Scenario, SCENARIOS } from './scenarios.ts';

const HELP = `usage: npm run bench:load -- [options]

Runs load tests of many kinds and writes a page with plots for each, and one that leads to them.

  --quick         one second each at a tenth of the rate: shows that it works; its figures say nothing
  --only <names>  tests whose name contains one of these, separated by commas:
                  ${SCENARIOS.map(({ name }) => name).join(', ')}
  --dir <path>    where stores are made, on a real disk (default .data below the current directory)
  --out <path>    directory of the pages and of the figures as JSON (default .data/load)
`;
const EXIT_USAGE = 2;
const CLI = join(import.meta.dirname, '..', '..', 'bundle', 'cli.js');

try {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      dir: { type: 'string' },
      out: { type: 'string', default: '.data/load' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) process.stdout.write(HELP);
  else {
    const out = makeDirectory(resolve(values.out));
    const results = await runAll(chosen(values.only, values.quick), workingDirectory(values.dir), out);
    const index = join(out, 'index.html');
    const command = ['npm run bench:load --', ...process.argv.slice(2)].join(' ');
    writeFileSync(index, indexPage(results, command, values.quick));
    process.stdout.write(`${table(ROW_HEADING, results.map(loadRow))}${index}\n`);
  }
} catch (error) {
  process.stderr.write(`npm run bench:load: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = EXIT_USAGE;
}

function chosen(only: string, isQuick: boolean): Scenario[] {
  const parts = only.split(',').filter((part) => part !== '');
  const scenarios = SCENARIOS.filter(({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)));
  if (scenarios.length === 0) throw new Error(`no test has ${parts.join(' or ')} in its name`);
  return isQuick ? scenarios.map(quick) : scenarios;
}

async function runAll(scenarios: readonly Scenario[], parent: string, out: string): Promise<ScenarioResult[]> {
  const dir = mkdtempSync(join(makeDirectory(parent), 'millrace-load-'));
  const results: ScenarioResult[] = [];
  try {
    requireDisk(dir);
    for (const scenario of scenarios) {
      process.stderr.write(`${scenario.name}: ${scenario.what}\n`);
      const store = join(dir, scenario.name);
      const result = await runScenario(scenario, store, join(out, `${scenario.name}.html`));
      writeFileSync(join(out, `${scenario.name}.json`), `${JSON.stringify(result)}\n`);
      results.push({ scenario, result });
      rmSync(store, { recursive: true, force: true });
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  return results;
}

async function runScenario(scenario: Scenario, store: string, report: string): Promise<LoadResult> {
  const args = [CLI, 'load', store, ...argumentsOf(scenario), '--report', report, '--json'];
  // Its remark on where the page is would come once a test.
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  await new Promise((ended) => child.once('close', ended));
  if (output === '') throw new Error(`${scenario.name} failed: ${errors.trim()}`);
  return JSON.parse(output) as LoadResult;
}
