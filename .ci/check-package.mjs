/**
 * `npm run check:package`: packs the package as it would be published, asks publint and attw about the tarball, and uses
 * it from an empty project, in JavaScript and in TypeScript.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './paths.mjs';
import { prepare } from './prepare.mjs';
import { runNode, runNpm } from './run-command.mjs';

/** The tarball holds compiled modules and documents; the bound catches a fixture or a data file that slipped in. */
const UNPACKED_BYTES_MAX = 4 * 1024 * 1024;

const { name, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
/** What a user can import, such as `millrace` and `millrace/s3`. */
const ENTRIES = Object.keys(exports)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => name + path.slice(1));
/** What the entries may not need: a project without them still imports the package itself. */
const OPTIONAL_PEERS = Object.keys(
  JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).peerDependenciesMeta ?? {},
);

await prepare();
const folder = mkdtempSync(join(tmpdir(), 'millrace-package-'));
try {
  const tarball = await pack();
  await step('publint', runNode([bin('publint', 'src/cli.js'), tarball, '--strict']));
  await step('attw', runNode([bin('@arethetypeswrong/cli', 'dist/index.js'), tarball, '--profile', 'esm-only']));
  const project = await install(tarball);
  await step('import', importEntries(project));
  await step('types', typeCheck(project));
  console.log(`package: ${ENTRIES.join(', ')} can be installed and imported`);
} catch (error) {
  console.error(`package: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

