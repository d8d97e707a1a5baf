/** `npm run bench`, `bench:peers`, `bench:report`: makes the checkout ready, then runs an entry of the benchmarks. */
import { join } from 'node:path';
import { ROOT } from './paths.mjs';
import { prepare } from './prepare.mjs';
import { runNode } from './run-command.mjs';

const [entry, ...args] = process.argv.slice(2);

await prepare();
process.exitCode = await runNode(['--enable-source-maps', join(ROOT, 'dist/bench', `${entry}.js`), ...args]);
