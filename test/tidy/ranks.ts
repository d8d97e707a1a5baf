/** Who may import whom: the rank rule of docs/style.md. */
import { importsOf } from './imports.ts';
import { type SourceFile, type Violation, violationAt } from './repository.ts';

const RANKS: readonly (readonly string[])[] = [
  ['base', 'errors', 'limits', 'metrics'],
  ['codec', 'ring', 'thread'],
  ['record'],
  ['wal', 'memtable', 'segment', 'object', 'coordinator'],
  ['flush', 'compaction', 'backup'],
  ['stream'],
  ['store', 'lines'],
  ['index', 's3', 'server', 'testing', 'report'],
  ['cli'],
];

/** The ground and what the package offers are one layer each: its folders may know each other, but form no cycle. */
const RANKS_OF_ONE_LAYER: readonly number[] = [0, RANKS.findIndex((folders) => folders.includes('index'))];

/** What lies outside `src`, and what each may import there. */
const TOP_LEVEL: Readonly<Record<string, readonly string[]>> = {
  src: ['src'],
  workers: ['workers', 'src'],
  wasm: ['wasm', 'src'],
  bench: ['bench', 'src', 'workers', 'wasm', 'test'],
  test: ['test', 'src', 'workers', 'wasm', 'bench'],
  examples: ['examples', 'src'],
};

const FILE_SYSTEM_MODULES = /^(node:)?fs(\/promises)?$/;
const FILE_SYSTEM_USERS = new RegExp(
  [
    String.raw`^src\/base\/(node-file-system|thread-priority)\.ts$`,
    String.raw`^src\/cli\/`,
    String.raw`^src\/server\/assets\.ts$`,
    String.raw`^src\/store\/lock`,
  ].join('|'),
);

/** Imports that go up or sideways, out of the sources, or past the file system interface. */
export function rankViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) =>
    importsOf(file).flatMap(({ node, specifier, target, kind }) => {
      if (kind === 'url') return [];
      const reason = target === undefined ? whyNotModule(file.path, specifier) : whyNotFile(file.path, target);
      return reason === undefined ? [] : [violationAt(file, node, `imports ${target ?? specifier}: ${reason}`)];
    }),
  );
}

/** Source folders that have no rank yet. */
export function foldersWithoutRank(paths: readonly string[]): string[] {
  const folders = paths.filter((path) => path.startsWith('src/')).map(folderOf);
  return [...new Set(folders)].filter((folder) => rankOf(folder) < 0);
}

function whyNotModule(from: string, specifier: string): string | undefined {
  if (!from.startsWith('src/') || !FILE_SYSTEM_MODULES.test(specifier) || FILE_SYSTEM_USERS.test(from))
    return undefined;
  return 'files are reached through the FileSystem of src/base/file-system.ts';
}

function whyNotFile(from: string, to: string): string | undefined {
  const fromTop = topLevelOf(from);
  const toTop = topLevelOf(to);
  // The codecs are the one place that knows how WebAssembly is loaded.
  if (from.startsWith('src/codec/') && toTop === 'wasm') return undefined;
  if (TOP_LEVEL[fromTop]?.includes(toTop) !== true) return `${fromTop}/ may not know ${toTop}/`;
  if (toTop !== 'src') return undefined;
  const toRank = rankOf(folderOf(to));
  if (fromTop === 'wasm') return toRank === 0 ? undefined : 'wasm/ may import rank 0 only';
  return fromTop === 'src' ? whyNotRank(from, to) : undefined;
}

function whyNotRank(from: string, to: string): string | undefined {
  if (folderOf(from) === folderOf(to)) return undefined;
  const fromRank = rankOf(folderOf(from));
  const toRank = rankOf(folderOf(to));
  if (toRank < fromRank) return undefined;
  if (toRank > fromRank) return `rank ${fromRank} may not import rank ${toRank}; move what both need below them`;
  if (RANKS_OF_ONE_LAYER.includes(fromRank)) return undefined;
  return `folders of rank ${fromRank} may not know each other; a higher rank joins them`;
}

function rankOf(folder: string): number {
  return RANKS.findIndex((folders) => folders.includes(folder));
}

/** A file directly in `src` is an entry of the package, like the index. */
function folderOf(path: string): string {
  const parts = path.split('/');
  return parts.length > 2 ? (parts[1] ?? '') : 'index';
}

function topLevelOf(path: string): string {
  return path.split('/')[0] ?? '';
}
