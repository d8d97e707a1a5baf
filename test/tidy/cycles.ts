/** Import cycles: files of one cycle can only be understood, loaded and tested together. */
import { importsOf } from './imports.ts';
import { type SourceFile, type Violation } from './repository.ts';

/** One violation for each cycle that a walk in file order closes. Type imports count: they too have to be read. */
export function importCycles(files: readonly SourceFile[]): Violation[] {
  const edges = new Map(files.map((file) => [file.path, targetsOf(file)]));
  const finished = new Set<string>();
  const trail: string[] = [];
  const violations: Violation[] = [];

  const visit = (path: string): void => {
    const start = trail.indexOf(path);
    if (start >= 0) violations.push(`import cycle: ${[...trail.slice(start), path].join(' -> ')}`);
    if (start >= 0 || finished.has(path)) return;
    trail.push(path);
    for (const target of edges.get(path) ?? []) visit(target);
    trail.pop();
    finished.add(path);
  };
  for (const file of files) visit(file.path);
  return violations;
}

function targetsOf(file: SourceFile): string[] {
  return importsOf(file).flatMap(({ target, kind }) => (kind === 'import' && target !== undefined ? [target] : []));
}
