/** What documents mention: files by their path or their name, and scripts of package.json. */
import type { TextFile, Violation } from './repository.ts';

/** Figures that are kept (`.json`) are made by whoever measures. */
const PATH = /`((?:src|workers|wasm|bench|test|docs|examples|\.ci)\/(?![\w./-]*\.json)[\w./-]*)`/g;
const FILE_NAME = /`([\w-]+(?:\.\w+)*\.ts)`/g;
const COMMAND = /\bnpm run ([\w:-]*\w)/g;

/** Paths and file names of Markdown files that are not in the repository. What follows a slash is a folder. */
export function missingFiles(files: readonly TextFile[], paths: readonly string[]): Violation[] {
  const names = new Set(paths.map((path) => path.split('/').at(-1)));
  const known = new Set(paths);
  const isThere = (path: string): boolean => known.has(path) || isFolder(path, paths);
  return documents(files).flatMap((file) => [
    ...mentioned(file, PATH)
      .filter((path) => !isThere(path))
      .map((path) => `${file.path}: there is no ${path}`),
    ...mentioned(file, FILE_NAME)
      .filter((name) => !names.has(name))
      .map((name) => `${file.path}: there is no file ${name}`),
  ]);
}

/** `npm run` of a script that package.json does not have. */
export function missingScripts(files: readonly TextFile[], scripts: readonly string[]): Violation[] {
  return documents(files).flatMap((file) =>
    mentioned(file, COMMAND)
      .filter((script) => !scripts.includes(script))
      .map((script) => `${file.path}: package.json has no script ${script}`),
  );
}

function documents(files: readonly TextFile[]): TextFile[] {
  // What has been released may name what is gone by now.
  return files.filter(({ path }) => path.endsWith('.md') && path !== 'CHANGELOG.md');
}

function mentioned({ text }: TextFile, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, found = '']) => found);
}

function isFolder(path: string, paths: readonly string[]): boolean {
  const prefix = path.endsWith('/') ? path : `${path}/`;
  return paths.some((candidate) => candidate.startsWith(prefix));
}
