/**
 * `npm run check:package`: packs the package as it would be published, asks publint and attw about the tarball, and
 * uses it from an empty project, in JavaScript, in TypeScript and from the command line.
 */
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from './paths.mjs';
import { prepare } from './prepare.mjs';
import { runNode, runNpm } from './run-command.mjs';

/** Compiled modules and documents are small; the bound catches fixtures, data files or source maps that slipped in. */
const UNPACKED_BYTES_MAX = 4 * 1024 * 1024;
/** How far the installed size may be from what the README says: dependencies have releases, too. */
const SIZE_TOLERANCE = 0.1;

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
/** What a user can import: the package itself and its subpaths, but those that run something. */
const entries = Object.keys(manifest.exports)
  .filter((path) => !path.endsWith('.json') && !path.startsWith('./workers/') && path !== './cli')
  .map((path) => manifest.name + path.slice(1));

/** The first program of the README: it needs the worker threads, the WebAssembly and the files of the package. */
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
const program = /```ts\n(.*?)```/s.exec(readme)[1];
/** What that program prints. */
const PROGRAM_OUTPUT = '0 order-1 a sack of flour\n';

await prepare();
const folder = mkdtempSync(join(tmpdir(), `${manifest.name}-package-`));
const project = join(folder, 'project');
try {
  await checkPackage();
  console.log(`package: installed, imported (${entries.join(', ')}), type checked and run`);
} catch (error) {
  console.error(`package: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function checkPackage() {
  const tarball = pack();
  await step('publint', runNode([tool('publint', 'src/cli.js'), 'run', tarball, '--strict']));
  await step(
    'attw',
    runNode([tool('@arethetypeswrong/cli', 'dist/index.js'), tarball, '--profile', 'esm-only', '--no-color']),
  );

  mkdirSync(project);
  write('package.json', JSON.stringify({ private: true, type: 'module' }));
  const install = [
    'install',
    tarball,
    '--ignore-scripts',
    '--omit=peer',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
  ];
  await step('install', runNpm(install, { cwd: project }));
  checkFigures();

  write('readme.mjs', program);
  const output = execFileSync(process.execPath, ['readme.mjs'], { cwd: project, encoding: 'utf8', timeout: 300_000 });
  if (output !== PROGRAM_OUTPUT) throw new Error(`the program of the README printed ${JSON.stringify(output)}`);
  await step('command line', runNode([join('node_modules', '.bin', manifest.name), '--help'], { cwd: project }));

  linkDevelopmentPackages();
  write('entries.mjs', entries.map((entry) => `await import('${entry}');`).join('\n'));
  await step('import', runNode(['entries.mjs'], { cwd: project }));
  write('entries.ts', entries.map((entry, index) => `export * as entry${index} from '${entry}';`).join('\n'));
  write('tsconfig.json', JSON.stringify({ compilerOptions: consumerOptions(), files: ['entries.ts'] }));
  await step('types', runNode([tool('typescript', 'bin/tsc'), '-p', '.'], { cwd: project }));
}

/** Packs into the temporary folder and returns the path of the tarball. */
function pack() {
  const npm = process.env.npm_execpath;
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const options = { cwd: ROOT, encoding: 'utf8' };
  const output = npm ? execFileSync(process.execPath, [npm, ...args], options) : execFileSync('npm', args, options);
  const [packed] = JSON.parse(output);
  console.log(`package: ${packed.filename}, ${packed.entryCount} files, ${packed.unpackedSize} bytes unpacked`);
  if (packed.unpackedSize > UNPACKED_BYTES_MAX)
    throw new Error(`more than ${UNPACKED_BYTES_MAX} bytes: what slipped in?`);
  return join(folder, packed.filename);
}

/** The README says what an installation brings. */
function checkFigures() {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    console.log('package: what the README says an installation brings is for Linux x64: not compared');
    return;
  }
  const modules = join(project, 'node_modules');
  const installed = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8'));
  const packages = Object.keys(installed.packages).length;
  const files = readdirSync(modules, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const bytes = files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
  const found = `${packages} packages, ${(bytes / 1e6).toFixed(1)} MB`;
  const [said, saidPackages, saidMegabytes] = /(\d+) packages, ([\d.]+) MB/.exec(readme);
  const difference = Math.abs(bytes / (1e6 * Number(saidMegabytes)) - 1);
  if (packages !== Number(saidPackages) || difference > SIZE_TOLERANCE) {
    throw new Error(`an installation brings ${found}, and the README says ${said}`);
  }
  console.log(`package: an installation brings ${found}`);
}

async function step(name, running) {
  const code = await running;
  if (code !== 0) throw new Error(`${name} failed with exit code ${code}`);
}

function tool(packageName, file) {
  return join(ROOT, 'node_modules', packageName, file);
}

function write(file, content) {
  writeFileSync(join(project, file), content);
}

/** Optional peers and type packages, from this checkout: what a user of the subpaths would have installed. */
function linkDevelopmentPackages() {
  const types = Object.keys(manifest.devDependencies).filter((name) => name.startsWith('@types/'));
  for (const name of [...Object.keys(manifest.peerDependencies), ...types]) {
    const link = join(project, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { recursive: true, force: true });
    symlinkSync(join(ROOT, 'node_modules', name), link, 'junction');
  }
}

/** Strict on purpose: `skipLibCheck` would hide what is wrong with our own declarations. */
function consumerOptions() {
  return {
    target: 'es2023',
    lib: ['es2023', 'es2024.sharedmemory'],
    module: 'nodenext',
    // The default of TypeScript: what the declarations need, they name themselves.
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
  };
}
