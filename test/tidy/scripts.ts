/** Scripts that run before anything is installed: a fresh clone has Node alone. */
import { posix } from 'node:path';
import ts from 'typescript';
import { parseSource, type TextFile, type Violation, violationAt } from './repository.ts';

/** One violation for each package that `entry`, or what it loads at its start, imports. `import()` comes later. */
export function packagesBeforeInstall(files: readonly TextFile[], entry: string): Violation[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const seen = new Set<string>();
  const violations: Violation[] = [];
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    const file = parseSource(path, texts.get(path) ?? '');
    for (const node of file.tree.statements) {
      const from = ts.isImportDeclaration(node) || ts.isExportDeclaration(node) ? node.moduleSpecifier : undefined;
      if (from === undefined || !ts.isStringLiteral(from) || from.text.startsWith('node:')) continue;
      if (from.text.startsWith('.')) visit(posix.join(posix.dirname(path), from.text));
      else violations.push(violationAt(file, node, `${from.text} is not there before ${entry} has installed it`));
    }
  };
  visit(entry);
  return violations;
}
