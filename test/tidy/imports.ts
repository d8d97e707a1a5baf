/** Which file names which: the edges that the rules on ranks, cycles and unreached files look at. */
import { posix } from 'node:path';
import ts from 'typescript';
import { type SourceFile, walk } from './repository.ts';

export interface Import {
  readonly node: ts.Node;
  /** As written: `./format.ts`, `node:fs`. */
  readonly specifier: string;
  /** Path from the repository's root for a relative specifier, with `.ts` for `.js`. */
  readonly target: string | undefined;
  /**
   * `import`: a declaration, a type import, a re-export or `import()`. `url`: `new URL('./x.ts', import.meta.url)`,
   * which reaches a module without the importer knowing anything of it.
   */
  readonly kind: 'import' | 'url';
}

/** Everything the file imports, in order. */
export function importsOf(file: SourceFile): Import[] {
  const found: Import[] = [];
  walk(file, (node) => {
    const specifier = importSpecifier(node);
    if (specifier !== undefined) found.push(toImport(file, node, specifier, 'import'));
    const url = moduleUrl(node);
    if (url !== undefined) found.push(toImport(file, node, url, 'url'));
  });
  return found;
}

/** Path of the file that the node imports from; `undefined` when it imports nothing, or a package. */
export function resolveFrom(file: SourceFile, node: ts.Node): string | undefined {
  const specifier = importSpecifier(node);
  return specifier === undefined ? undefined : toImport(file, node, specifier, 'import').target;
}

function toImport(file: SourceFile, node: ts.Node, specifier: string, kind: Import['kind']): Import {
  const target = specifier.startsWith('.')
    ? posix.join(posix.dirname(file.path), specifier).replace(/\.js$/, '.ts')
    : undefined;
  return { node, specifier, target, kind };
}

function importSpecifier(node: ts.Node): string | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return literalText(node.moduleSpecifier);
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    return literalText(node.arguments[0]);
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return literalText(node.argument.literal);
  return undefined;
}

function moduleUrl(node: ts.Node): string | undefined {
  if (!ts.isNewExpression(node) || node.expression.getText() !== 'URL') return undefined;
  if (node.arguments?.[1]?.getText() !== 'import.meta.url') return undefined;
  return literalText(node.arguments[0]);
}

function literalText(node: ts.Node | undefined): string | undefined {
  return node !== undefined && ts.isStringLiteralLike(node) ? node.text : undefined;
}
