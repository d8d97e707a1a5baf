/** Links between documents: a page that moved takes its readers along. */
import { posix } from 'node:path';
import type { TextFile, Violation } from './repository.ts';

const LINK = /\]\(([^)\s]+)\)/g;
const EXTERNAL = /^([a-z]+:|#)/;

/** Relative links in Markdown that lead to no file and no folder of the repository. */
export function brokenLinks(files: readonly TextFile[], paths: readonly string[]): Violation[] {
  const folders = paths.flatMap((path) => foldersAbove(path));
  const targets = new Set([...paths, ...folders]);
  return files
    .filter(({ path }) => path.endsWith('.md'))
    .flatMap((file) =>
      [...file.text.matchAll(LINK)]
        .map(([, link]) => link ?? '')
        .filter((link) => !EXTERNAL.test(link) && !targets.has(resolveLink(file.path, link)))
        .map((link) => `${file.path}: the link to ${link} leads nowhere`),
    );
}

function resolveLink(from: string, link: string): string {
  const path = link.split('#')[0] ?? '';
  return posix.join(posix.dirname(from), path).replace(/\/$/, '');
}

function foldersAbove(path: string): string[] {
  const folder = posix.dirname(path);
  return folder === '.' ? ['.'] : [folder, ...foldersAbove(folder)];
}
