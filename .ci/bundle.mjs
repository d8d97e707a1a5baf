/**
 * Makes of the compiled modules the files that are published: `dist/bundle`, flat, as `docs/bundling.md` lays out a
 * bundled program. A module costs a process half a millisecond, however small it is, and there are hundreds
 * (docs/decisions/0018). What package.json exports is bundled together, so that each class exists once; a worker is a
 * process of its own in that respect, and bundled by itself.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { filesBelow, ROOT } from './paths.mjs';

/** Relative to the repository. */
export const BUNDLE = 'dist/bundle';
/** Programs of tests that are started thousands of times, each by itself. Their workers are those of the bundle. */
export const PROGRAMS = 'dist/programs';
const STARTED_OFTEN = ['dist/test/kill/child.js', 'dist/test/kill/producer.worker.js'];
/** Read at run time: where they lie in `dist`, and which of them. */
const ASSETS = [
  { folder: 'dist/wasm', files: /^kernel\/.*\.wasm$/ },
  { folder: 'dist/src/server', files: /^openapi\.json$|^dashboard\/.*\.(html|css|svg|js)$/ },
];

const OPTIONS = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // What is loaded only when it is used stays apart: optional peers, commands, jobs.
  splitting: true,
  packages: 'external',
  // Nothing of a user's is in a trace or in a heap snapshot under a name that the bundler made up.
  keepNames: true,
  legalComments: 'none',
  // For debugging here. The package has none, and a bundler of a user would miss those that a file names.
  sourcemap: 'external',
  sourcesContent: false,
  metafile: true,
  logLevel: 'warning',
};

/** Modules that name files by where they lie among the compiled ones, and what that becomes within the bundle. */
const PLACES = [
  { filter: /[\\/]thread[\\/]worker-files\.js$/, compiled: '../../workers/', bundled: '' },
  { filter: /[\\/]wasm[\\/]kernel\.js$/, compiled: 'kernel/${', bundled: 'kernel/${' },
];

/** Finds workers and kernels in the bundle, which is at `folder` for what is built. */
function filesIn(folder) {
  const setup = ({ onLoad }) => {
    for (const { filter, compiled, bundled } of PLACES) {
      onLoad({ filter }, ({ path }) => {
        const text = readFileSync(path, 'utf8');
        if (!text.includes(compiled)) throw new Error(`${path} names no file as ${compiled}: what did it become?`);
        return { contents: text.replaceAll(compiled, `${folder}/${bundled}`), resolveDir: dirname(path) };
      });
    }
  };
  return { name: 'files-in-the-bundle', setup };
}

/** Needs the compiled modules in `dist`. */
export async function bundle() {
  const { library, workers } = entriesOf(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
  const groups = [library, ...Object.entries(workers).map(([name, file]) => ({ [name]: file }))];
  const programs = STARTED_OFTEN.map((file) => ({ [file.replace(/^dist\/test\/|\.js$/g, '')]: file }));
  const results = await Promise.all([
    ...groups.map((entryPoints) => buildGroup(entryPoints, BUNDLE, '.')),
    ...programs.map((entryPoints) => buildGroup(entryPoints, PROGRAMS, '../../bundle')),
  ]);
  const written = new Set(results.flatMap(({ metafile }) => Object.keys(metafile.outputs)));
  for (const file of copyAssets()) written.add(file);
  for (const file of [BUNDLE, PROGRAMS].flatMap((folder) => filesBelow(folder))) {
    if (!written.has(file)) rmSync(join(ROOT, file));
  }
}

/** From package.json, which says for each entry where its declarations are, and what it is called in the bundle. */
function entriesOf({ exports }) {
  const entries = Object.entries(exports).filter(([, target]) => typeof target === 'object');
  const named = entries.map(([path, { types, default: bundled }]) => ({
    isWorker: path.startsWith('./workers/'),
    entry: [basename(bundled, '.js'), types.replace(/\.d\.ts$/, '.js')],
  }));
  const ofKind = (kind) =>
    Object.fromEntries(named.filter(({ isWorker }) => isWorker === kind).map(({ entry }) => entry));
  return { library: ofKind(false), workers: ofKind(true) };
}

/** `folder`: where the bundle is from there. */
async function buildGroup(entryPoints, outdir, folder) {
  // Not at the top: the script that installs what is missing in a fresh clone imports this module before.
  const { build } = await import('esbuild');
  return build({
    ...OPTIONS,
    entryPoints,
    outdir,
    // Beside their entry, whose modules name each other's files.
    chunkNames: `${dirname(Object.keys(entryPoints)[0])}/[name]-[hash]`,
    plugins: [filesIn(folder)],
  });
}

function copyAssets() {
  return ASSETS.flatMap(({ folder, files }) =>
    filesBelow(folder)
      .map((file) => file.slice(folder.length + 1))
      .filter((name) => files.test(name))
      .map((name) => {
        const target = `${BUNDLE}/${name}`;
        mkdirSync(dirname(join(ROOT, target)), { recursive: true });
        copyFileSync(join(ROOT, folder, name), join(ROOT, target));
        return target;
      }),
  );
}
