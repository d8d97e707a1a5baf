/** The snippets of a page: what its reader may copy. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT: string = join(import.meta.dirname, '..', '..', '..');

export type Language = 'js' | 'sh' | 'ts';

export interface Snippet {
  readonly language: Language;
  /** Line of the page on which the code begins, from 0. */
  readonly line: number;
  readonly code: string;
  /** It begins with a comment `fragment: why`, which tells the reader too that it does not run as it stands. */
  readonly isFragment: boolean;
}

export interface Page {
  readonly path: string;
  readonly snippets: readonly Snippet[];
}

const SNIPPET = /^```(ts|js|sh)\n(.*?)^```/gms;
const FRAGMENT = /^(?:\/\/|#) fragment: \S/;
const IMPORT = /^import (type )?\{ ([^}]*) \} from '([^']*)';$/gm;

export function pageAt(path: string): Page {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const snippets = [...text.matchAll(SNIPPET)].map((match): Snippet => {
    const [, language, code] = match as unknown as [string, Language, string];
    const line = text.slice(0, match.index).split('\n').length;
    return { language, line, code, isFragment: FRAGMENT.test(code) };
  });
  return { path, snippets };
}

/** The pages whose snippets run. Each guide is one; others are named. */
export function runnablePages(): Page[] {
  const guides = join(ROOT, 'docs/guides');
  const paths = existsSync(guides) ? readdirSync(guides).map((name) => `docs/guides/${name}`) : [];
  const named = ['guide', 'http', 'backup', 'diagnostics', 'bundling'].map((name) => `docs/${name}.md`);
  return ['README.md', ...named, ...paths.sort()].map(pageAt);
}

/**
 * One module of the snippets of a page that run: what one declares is known to the later ones. Each stands at its line
 * of the page, so that errors name that line. A name that an earlier snippet imported is not imported again.
 */
export function programOf({ snippets }: Page): string {
  const imported = new Set<string>();
  let program = '';
  let line = 0;
  for (const { code, line: first, language, isFragment } of snippets) {
    if (language === 'sh' || isFragment) continue;
    program +=
      '\n'.repeat(first - line) +
      code.replace(IMPORT, (_, type = '', names: string, from: string) => {
        const fresh = names.split(', ').filter((name) => !imported.has(name));
        for (const name of fresh) imported.add(name);
        return fresh.length === 0 ? '' : `import ${type}{ ${fresh.join(', ')} } from '${from}';`;
      });
    line = first + code.split('\n').length - 1;
  }
  return program;
}

/** What a shell runs of a page. What npm does (install, test) is checked by `npm run check:package` and CI. */
export function scriptOf({ snippets }: Page): string {
  return snippets
    .filter(({ language, isFragment }) => language === 'sh' && !isFragment)
    .map(({ code }) => code.replace(/^npm .*$/gm, ''))
    .join('\n');
}

/** The directories that snippets open by the name alone, or ingest into: stores with a log of the default size. */
export function storesIn(code: string): string[] {
  const found = [...code.matchAll(/(?<=\bopen\('|\bingest )\.\/[\w-]+/g)];
  // What is mentioned before, as the target of a copy say, is made by that.
  return found.filter(({ 0: path, index }) => code.indexOf(path) === index).map(([path]) => path);
}
