/**
 * Makes of the compiled modules the files that are published: `dist/bundle`, flat, as `docs/bundling.md` lays out a
 * bundled program. A module costs a process half a millisecond, however small it is, and there are hundreds
 * (docs/decisions/0018). What package.json exports is bundled together, so that each class exists once; a worker is a
 * process of its own in that respect, and bundled by itself.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { build } from 'esbuild';
import { filesBelow, ROOT } from './paths.mjs';

/** Relative to the repository. */
export const BUNDLE = 'dist/bundle';
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
  sourcemap: true,
  sourcesContent: false,
  metafile: true,
  logLevel: 'warning',
};

/** Compiled modules name worker files from their own folder; in the bundle everything lies in one. */
const flatWorkers = {
  name: 'flat-workers',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]thread[\\/]worker-files\.js$/ }, ({ path }) => {
      const compiled = readFileSync(path, 'utf8');
      const flat = compiled.replaceAll("new URL('../../workers/", "new URL('./");
      if (flat === compiled) throw new Error(`${path} names no worker files: what did it become?`);
      return { contents: flat, resolveDir: dirname(path) };
    });
  },
};

/** Needs the compiled modules in `dist`. */
export async function bundle() {
  const { library, workers } = entriesOf(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
  const groups = [library, ...Object.entries(workers).map(([name, file]) => ({ [name]: file }))];
  const results = await Promise.all(groups.map((entryPoints) => buildGroup(entryPoints)));
  const written = new Set(results.flatMap(({ metafile }) => Object.keys(metafile.outputs)));
  for (const file of copyAssets()) written.add(file);
  for (const file of filesBelow(BUNDLE)) if (!written.has(file)) rmSync(join(ROOT, file));
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

function buildGroup(entryPoints) {
  return build({
    ...OPTIONS,
    entryPoints,
    outdir: BUNDLE,
    chunkNames: '[name]-[hash]',
    plugins: [flatWorkers],
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
