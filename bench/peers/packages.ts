/** The peers' packages: they are installed beside this folder's package.json and nowhere else. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** The sources of this folder: packages are not compiled. */
const FOLDER: string = join(import.meta.dirname, '..', '..', '..', 'bench', 'peers');
const MANIFEST: string = join(FOLDER, 'package.json');
const INSTALLED: string = join(FOLDER, 'node_modules', '.package-lock.json');

/** Loads a package. Its types are not known here: adapters state the part that they use. */
export function loadPackage<Package>(name: string): Package {
  return createRequire(MANIFEST)(name) as Package;
}

export function packageVersion(name: string): string {
  const text = readFileSync(join(FOLDER, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Installs the packages when they are not there. Their install scripts fetch or compile native addons. */
export function ensurePackages(): void {
  if (existsSync(INSTALLED)) return;
  process.stderr.write('npm run bench:peers: the peers are not installed; running npm ci in bench/peers\n');
  const options = { cwd: FOLDER, stdio: 'inherit', shell: process.platform === 'win32' } as const;
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], options);
  if (status !== 0) throw new Error(`npm ci failed in bench/peers with exit code ${status ?? 'unknown'}`);
}
