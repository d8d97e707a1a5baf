/** `npm run bench:heat-death`: can the readers of a stream push its user data out? */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadChecksum } from '../src/codec/checksum.ts';
import { measuresOf, promisesOf, type VariantResult } from './heat-death/figures.ts';
import { HELP, type HeatDeathOptions, parseHeatDeathOptions } from './heat-death/options.ts';
import { amount, type HeatDeathResult, heatDeathPage, scenarioText } from './heat-death/page.ts';
import { runScenario } from './heat-death/scenario.ts';
import { SCENARIO, VARIANTS } from './heat-death/variants.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** Less shows nothing: the first flush comes after ten seconds. */
const SECONDS_MIN = 300;

let options: HeatDeathOptions | undefined;
try {
  options = parseHeatDeathOptions(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`npm run bench:heat-death: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = EXIT_USAGE;
}
if (options?.help === true) process.stdout.write(HELP);
else if (options !== undefined) report(options, await run(options.seconds));

async function run(seconds: number): Promise<HeatDeathResult> {
  await loadChecksum();
  const variants: VariantResult[] = [];
  for (const { name, text, settings, share, commitEvery } of VARIANTS) {
    const begun = performance.now();
    const length = Math.max(SECONDS_MIN, Math.round(seconds * share));
    const samples = await runScenario(settings, { ...SCENARIO, seconds: length, commitEvery }, (second) => {
      if (process.stderr.isTTY) process.stderr.write(`\r${name}: ${((100 * second) / length).toFixed(0)} % `);
    });
    const elapsed = ((performance.now() - begun) / 1_000).toFixed(1);
    process.stderr.write(`\r${name}: ${(length / 3_600).toFixed(1)} hours in ${elapsed} s\n`);
    variants.push({ variant: { name, text }, settings, seconds: length, samples });
  }
  const command = ['npm run bench:heat-death --', ...process.argv.slice(2)].join(' ');
  return { command, scenario: SCENARIO, variants };
}

function report({ json, html }: HeatDeathOptions, result: HeatDeathResult): void {
  const [all] = result.variants;
  const promises = all === undefined ? [] : promisesOf(all);
  const measures = measuresOf(result.variants, result.scenario);
  const text = `${JSON.stringify({ ...result, promises, measures }, undefined, 2)}\n`;
  write(html, heatDeathPage(result));
  if (json !== undefined && json !== '-') write(json, text);
  process.stdout.write(json === '-' ? text : `${textOf(result)}\nThe report with plots is ${html}\n`);
  if (promises.some(({ kept }) => !kept)) process.exitCode = EXIT_FAILED;
}

function textOf(result: HeatDeathResult): string {
  const [all] = result.variants;
  const promises = all === undefined ? [] : promisesOf(all);
  const measures = measuresOf(result.variants, result.scenario);
  return [
    scenarioText(result),
    '',
    ...promises.map(({ text, value, kept }) => `${kept ? 'holds ' : 'BROKEN'}  ${text}: ${value}`),
    '',
    ...measures.map(({ measure, what, unit, with: on, without }) => {
      const [found, instead] = [amount(on, unit), amount(without, unit)];
      return `${measure.padEnd(22)} ${what.padEnd(32)} ${found.padStart(10)} instead of ${instead}`;
    }),
    '',
  ].join('\n');
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
