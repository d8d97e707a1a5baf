/** `npm run sim`: simulated days of a fleet, for the defaults and for other settings. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { HELP, parseSimOptions, type SimOptions } from './options.ts';
import { simulationPage } from './page.ts';
import { type SimResult, simulate } from './result.ts';
import { simulationText } from './text.ts';
import { VARIANTS } from './variants.ts';

const EXIT_USAGE = 2;

try {
  const options = parseSimOptions(process.argv.slice(2));
  if (options.help) process.stdout.write(HELP);
  else report(options, run(options));
} catch (error) {
  process.stderr.write(`npm run sim: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = EXIT_USAGE;
}

function run(options: SimOptions): SimResult {
  const { workload, prices, reads, days, seed, only } = options;
  const chosen = VARIANTS.filter(
    ({ name }, index) => index === 0 || only.length === 0 || only.some((part) => name.includes(part)),
  );
  const variants = chosen.map((variant, index) => {
    const begun = performance.now();
    const result = simulate(variant, options, (day) => {
      const seconds = Math.round((performance.now() - begun) / 1_000);
      if (process.stderr.isTTY) {
        process.stderr.write(`\r${index + 1}/${chosen.length} ${variant.name}: day ${day} of ${days}, ${seconds} s `);
      }
    });
    const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
    process.stderr.write(`\r${index + 1}/${chosen.length} ${variant.name}: ${days} days in ${seconds} s\n`);
    return result;
  });
  const command = ['npm run sim --', ...process.argv.slice(2)].join(' ');
  return { command, workload, prices, reads, days, seed, variants };
}

function report({ json, html }: SimOptions, result: SimResult): void {
  const text = `${JSON.stringify(result, undefined, 2)}\n`;
  write(html, simulationPage(result));
  if (json === '-') {
    process.stdout.write(text);
    return;
  }
  if (json !== undefined) write(json, text);
  process.stdout.write(`${simulationText(result)}\nThe report with plots is ${html}\n`);
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
