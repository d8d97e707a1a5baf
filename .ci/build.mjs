/**
 * Compiles into `dist`, which mirrors the sources: what tsc does not copy is copied, and what has no source any more is
 * removed, so that a deleted test can never run again. Then bundles what is published. `node .ci/build.mjs` builds;
 * `ensureBuilt` builds only if a source changed since the last build that succeeded.
 */
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundle, BUNDLE, PROGRAMS } from './bundle.mjs';
import { filesBelow, ROOT, SOURCE_FOLDERS } from './paths.mjs';
import { runNode } from './run-command.mjs';

/** Holds the fingerprint of the sources of the last build that succeeded. */
const STAMP = 'dist/.fingerprint';
/** Everything outside the source folders that decides what tsc emits. */
const CONFIGURATION = ['tsconfig.json', 'package.json', 'package-lock.json', '.ci/build.mjs', '.ci/bundle.mjs'];
/** Loaded at run time from beside the compiled module. */
const COPIED_FOLDERS = ['src', 'workers', 'wasm'];
const COPIED_EXTENSIONS = /\.(wasm|json|sql|html|css|svg)$|^src\/server\/dashboard\/.*\.js$/;
/** Kept by the bundler itself. */
const BUNDLED = new RegExp(`^(${BUNDLE}|${PROGRAMS})/`);
const EMITTED_EXTENSIONS = /\.(d\.ts|d\.ts\.map|js|js\.map)$/;

/** Builds if the sources differ from those of the last good build. */
export async function ensureBuilt() {
  const fingerprint = fingerprintOfSources();
  const last = readIfPresent(STAMP);
  if (last === fingerprint) return;
  const reason = last === undefined ? 'there is no build yet' : 'the sources changed since the last build';
  console.error(`millrace: ${reason}; running tsc, which takes a minute on a slow machine`);
  await build(fingerprint);
}

/** Contents and not times: a checkout of an older commit, or a restored cache, has times that say nothing. */
function fingerprintOfSources() {
  const hash = createHash('sha256');
  for (const file of [...CONFIGURATION, ...SOURCE_FOLDERS.flatMap(filesBelow)]) {
    const content = readFileSync(join(ROOT, file));
    hash.update(`${file}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/** The fingerprint is taken before tsc reads the first file: an edit made meanwhile leads to another build. */
async function build(fingerprint) {
  rmSync(join(ROOT, STAMP), { force: true });
  const removed = removeOrphans();
  let code = await compile();
  if (code === 0 && lacksOutput()) {
    // tsc believes its own record of what it wrote before, even where the output was deleted since.
    rmSync(join(ROOT, 'dist/.tsbuildinfo'), { force: true });
    code = await compile();
  }
  copyAssets();
  if (code !== 0) throw new Error('the build failed: see the errors above');
  await bundle();
  if (removed > 0) console.error(`millrace: removed ${removed} files from dist that have no source any more`);
  writeFileSync(join(ROOT, STAMP), fingerprint);
}

function compile() {
  return runNode([join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.json']);
}

/** Removes what earlier builds left for sources that are gone. */
function removeOrphans() {
  const expected = new Set(SOURCE_FOLDERS.flatMap(filesBelow));
  const orphans = filesBelow('dist').filter((file) => {
    const source = file.slice('dist/'.length);
    if (!source.includes('/') || BUNDLED.test(file) || expected.has(source)) return false;
    return !expected.has(source.replace(EMITTED_EXTENSIONS, '.ts'));
  });
  for (const file of orphans) rmSync(join(ROOT, file));
  return orphans.length;
}

function lacksOutput() {
  const emitted = new Set(filesBelow('dist'));
  const sources = SOURCE_FOLDERS.flatMap(filesBelow).filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'));
  return !sources.every((file) => emitted.has(`dist/${file.replace(/\.ts$/, '.js')}`));
}

function copyAssets() {
  for (const file of COPIED_FOLDERS.flatMap(filesBelow).filter((name) => COPIED_EXTENSIONS.test(name))) {
    const target = join(ROOT, 'dist', file);
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(join(ROOT, file), target);
  }
}

function readIfPresent(file) {
  try {
    return readFileSync(join(ROOT, file), 'utf8');
  } catch {
    return undefined;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) await build(fingerprintOfSources());
