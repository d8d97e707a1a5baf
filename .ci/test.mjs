/**
 * `npm test [-- filter... --option...]`: makes the checkout ready, then runs the compiled tests with node:test.
 *
 * A filter is a part of a test file's path, such as `wal` or `test/ring/ring.test.ts`; options go to node as they are
 * (`--test-name-pattern=recovery`).
 */
import { filesBelow } from './paths.mjs';
import { prepare } from './prepare.mjs';
import { runNode } from './run-command.mjs';

/** Test files are processes. Many wait for a disk or a server: one more than there are cores fills the gaps. */
const CONCURRENCY = 3;
/** Far above what any file needs on a busy machine, so that only a hang meets it. Tests have no bounds of their own. */
const TIMEOUT_MS = 900_000;

const args = process.argv.slice(2);
const options = args.filter((arg) => arg.startsWith('-'));
const filters = args.filter((arg) => !arg.startsWith('-')).map(compiledName);

await prepare();

const files = filesBelow('dist/test').filter((file) => file.endsWith('.test.js'));
const chosen = files.filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)));
if (chosen.length === 0) {
  console.error(`millrace: none of ${files.length} test files has ${filters.join(' or ')} in its path`);
  process.exit(1);
}

process.exitCode = await runNode([
  '--enable-source-maps',
  '--test',
  '--test-reporter=spec',
  `--test-concurrency=${CONCURRENCY}`,
  `--test-timeout=${TIMEOUT_MS}`,
  ...options,
  ...chosen,
]);

function compiledName(filter) {
  return filter.replaceAll('\\', '/').replace(/^\.\//, '').replace(/\.ts$/, '.js');
}
