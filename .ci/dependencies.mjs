/** Whether `node_modules` holds what the lockfile asks for, and the installation when it does not. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './paths.mjs';
import { runNpm } from './run-command.mjs';

/** npm's own record of what it put into `node_modules`; it is written last, so a broken installation has none. */
const INSTALLED = 'node_modules/.package-lock.json';

/** Installs the locked dependencies if they are not there. Throws if that fails. */
export async function ensureDependencies() {
  const reason = whyStale();
  if (reason === undefined) return;
  console.error(`millrace: ${reason}; running npm ci`);
  // Nothing here needs an install script, and some of them try to download.
  const code = await runNpm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=warn']);
  if (code !== 0) throw new Error(`npm ci failed with exit code ${code}`);
}

function whyStale() {
  const locked = packagesOf('package-lock.json');
  const installed = packagesOf(INSTALLED);
  if (locked === undefined)
    throw new Error('package-lock.json is missing or is not JSON: restore it from the repository');
  if (installed === undefined) return 'the dependencies are not installed';
  for (const [path, entry] of Object.entries(locked)) {
    const present = installed[path];
    // Packages for other platforms are in the lockfile and never installed.
    if (path === '' || (present === undefined && entry.optional === true)) continue;
    if (present?.version !== entry.version || present?.integrity !== entry.integrity) return `${path} is not as locked`;
    if (!existsSync(join(ROOT, path, 'package.json'))) return `${path} was removed`;
  }
  const extra = Object.keys(installed).find((path) => locked[path] === undefined);
  return extra === undefined ? undefined : `${extra} is installed but not locked`;
}

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(join(ROOT, file), 'utf8')).packages;
  } catch {
    return undefined;
  }
}
