/** The files of the repository as they are in the checkout; tests run from `dist`, the sources lie beside it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import ts from 'typescript';

/** The checkout: two folders above `dist/test/tidy`. */
const ROOT: string = join(import.meta.dirname, '..', '..', '..');

const IGNORED_FOLDERS = new Set(['node_modules', 'dist', '.git', '.data']);
const TEXT_EXTENSIONS = /\.(ts|js|mjs|json|md|sql|ya?ml|sh|c|h|txt)$/;

/** A text file with its path from the repository's root, always with `/`. */
export interface TextFile {
  readonly path: string;
  readonly text: string;
}

/** A TypeScript file, parsed. */
export interface SourceFile extends TextFile {
  readonly tree: ts.SourceFile;
}

/** What is wrong, where: `path:line: message`. */
export type Violation = string;

/** Every text file that belongs to the project. */
export function textFiles(): TextFile[] {
  return pathsBelow(ROOT)
    .map((path) => relative(ROOT, path).split(sep).join('/'))
    .filter((path) => TEXT_EXTENSIONS.test(path) || !path.split('/').at(-1)?.includes('.'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

/** The TypeScript files among them that are compiled. */
export function parseSources(files: readonly TextFile[]): SourceFile[] {
  return files
    .filter((file) => /^(src|workers|wasm|bench|test|examples)\/.*\.ts$/.test(file.path))
    .map(({ path, text }) => parseSource(path, text));
}

export function parseSource(path: string, text: string): SourceFile {
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true) };
}

/** Names the place of a node as an editor understands it. */
export function violationAt(file: SourceFile, node: ts.Node, message: string): Violation {
  const { line } = file.tree.getLineAndCharacterOfPosition(node.getStart(file.tree));
  return `${file.path}:${line + 1}: ${message}`;
}

/** Visits every node of the file, parents first. */
export function walk(file: SourceFile, visit: (node: ts.Node) => void): void {
  const descend = (node: ts.Node): void => {
    visit(node);
    ts.forEachChild(node, descend);
  };
  descend(file.tree);
}

function pathsBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (IGNORED_FOLDERS.has(entry.name)) return [];
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return pathsBelow(path);
    return entry.isFile() ? [path] : [];
  });
}
