/** The peers' packages: they are installed beside this folder's package.json and nowhere else. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** The sources of this folder: packages are not compiled. */
const FOLDER: string = join(import.meta.dirname, '..', '..', '..', 'bench', 'peers');
const MANIFEST: string = join(FOLDER, 'package.json');

/** Loads a package. Its types are not known here: adapters state the part that they use. */
export function loadPackage<Package>(name: string): Package {
  return createRequire(MANIFEST)(name) as Package;
}

/** `undefined` when it is not installed. */
export function installedVersion(name: string): string | undefined {
  const path = join(FOLDER, 'node_modules', name, 'package.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version : undefined;
}

/**
 * Installs the packages when one is not there in the version of the manifest. Their install scripts fetch or compile
 * native addons.
 */
export function ensurePackages(): void {
  const { dependencies } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { dependencies: Record<string, string> };
  const missing = Object.entries(dependencies).filter(([name, version]) => installedVersion(name) !== version);
  if (missing.length === 0) return;
  const names = missing.map(([name]) => name).join(', ');
  process.stderr.write(`npm run bench:peers: ${names} not installed in bench/peers; running npm ci there\n`);
  const options = { cwd: FOLDER, stdio: 'inherit', shell: process.platform === 'win32' } as const;
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], options);
  if (status !== 0) throw new Error(`npm ci failed in bench/peers with exit code ${status ?? 'unknown'}`);
}
