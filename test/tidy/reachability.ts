/** Dead files: sources that nothing reaches from where the package is entered. */
import { importsOf } from './imports.ts';
import { type SourceFile } from './repository.ts';

/** Files in `src` and `wasm` that no import or module URL leads to, starting from `entries`. */
export function unreachedFiles(files: readonly SourceFile[], entries: readonly string[]): string[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const pending = [...entries];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    const file = byPath.get(path);
    if (file === undefined || reached.has(path)) continue;
    reached.add(path);
    for (const { target } of importsOf(file)) if (target !== undefined) pending.push(target);
  }
  return files.map(({ path }) => path).filter((path) => /^(src|wasm)\//.test(path) && !reached.has(path));
}

/** The part of package.json that leads into the compiled sources: what is bundled lies where its declarations do. */
export interface PackageEntries {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
}

/** Where the package is entered, the command and what its threads start with among it. */
export function entriesOf(manifest: PackageEntries, files: readonly SourceFile[]): string[] {
  const published = Object.values(manifest.exports)
    .filter((target) => typeof target === 'object')
    .map(({ types }) => types.replace('./dist/', '').replace(/\.d\.ts$/, '.ts'));
  const workers = files.map(({ path }) => path).filter((path) => path.startsWith('workers/'));
  return [...published, ...workers];
}
