/** `npm start [-- argument...]`: makes the checkout ready, then runs the benchmark's entry. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './paths.mjs';
import { prepare } from './prepare.mjs';
import { runNode } from './run-command.mjs';

const ENTRY = 'dist/bench/start.js';

await prepare();
if (!existsSync(join(ROOT, ENTRY))) {
  console.error('millrace: there is nothing to start: bench/start.ts is missing');
  process.exit(1);
}
process.exitCode = await runNode(['--enable-source-maps', join(ROOT, ENTRY), ...process.argv.slice(2)]);
