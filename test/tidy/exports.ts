/**
 * Exports that nobody imports: what only its own file uses needs no `export`, and what nobody uses is dead. Types may
 * be exported beside what takes or returns them.
 */
import ts from 'typescript';
import { resolveFrom } from './imports.ts';
import { type SourceFile, type Violation, violationAt } from './repository.ts';

/** What workers and object stores are entered by: their modules are named by URL, and these by convention. */
const ENTERED_BY_NAME: ReadonlySet<string> = new Set(['run', 'openObjectStore']);

/** Exports of `files` that no file names. `entries` are there for programs: what they export, they may. */
export function unusedExports(files: readonly SourceFile[], entries: readonly string[]): Violation[] {
  const used = new Set(files.flatMap((file) => namesTakenBy(file)));
  return files
    .filter(({ path }) => !entries.includes(path))
    .flatMap((file) =>
      exportsOf(file)
        .filter(({ name }) => !ENTERED_BY_NAME.has(name))
        .filter(({ name }) => !used.has(`${file.path} ${name}`) && !used.has(`${file.path} *`))
        .map(({ node, name }) => violationAt(file, node, `${name} is exported, and nobody imports it`)),
    );
}

interface Exported {
  readonly node: ts.Node;
  readonly name: string;
}

function exportsOf({ tree }: SourceFile): Exported[] {
  return tree.statements.flatMap((statement): Exported[] => {
    const isExported =
      ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (isExported !== true) return [];
    if (ts.isVariableStatement(statement)) {
      return statement.declarationList.declarations.map((node) => ({ node, name: node.name.getText(tree) }));
    }
    if (!(ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement))) return [];
    return statement.name === undefined ? [] : [{ node: statement, name: statement.name.text }];
  });
}

/** `path name` for each name that the file takes from another one; `path *` where it may take any. */
function namesTakenBy(file: SourceFile): string[] {
  const taken: string[] = [];
  const visit = (node: ts.Node): void => {
    const target = resolveFrom(file, node);
    if (target !== undefined) taken.push(...takenNames(node).map((name) => `${target} ${name}`));
    ts.forEachChild(node, visit);
  };
  visit(file.tree);
  return taken;
}

function takenNames(node: ts.Node): string[] {
  if (ts.isImportTypeNode(node)) return [node.qualifier?.getText() ?? '*'];
  const bindings = ts.isImportDeclaration(node)
    ? node.importClause?.namedBindings
    : ts.isExportDeclaration(node)
      ? node.exportClause
      : undefined;
  if (bindings === undefined || !(ts.isNamedImports(bindings) || ts.isNamedExports(bindings))) return ['*'];
  return bindings.elements.map(({ name, propertyName }) => (propertyName ?? name).text);
}

/** What entries hand on from other files, and its public members, where there is no docstring. */
export function undocumentedExports(files: readonly SourceFile[], entries: readonly string[]): Violation[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  return entries.flatMap((entry) => {
    const statements = byPath.get(entry)?.tree.statements.filter(ts.isExportDeclaration) ?? [];
    return statements.flatMap((statement) => {
      const target = byPath.get(resolveFrom(byPath.get(entry) as SourceFile, statement) ?? '');
      if (target === undefined) return [];
      const names = takenNames(statement);
      return target.tree.statements
        .filter((declared) => declaredNames(declared, target.tree).some((name) => names.includes(name)))
        .flatMap((declared) => [declared, ...publicMembers(declared)])
        .filter((declared) => ts.getJSDocCommentsAndTags(declared).length === 0)
        .map((declared) => violationAt(target, declared, 'the package exports it, and it has no docstring'));
    });
  });
}

function publicMembers(declared: ts.Statement): ts.Node[] {
  if (ts.isInterfaceDeclaration(declared)) return [...declared.members];
  if (!ts.isClassDeclaration(declared)) return [];
  // What a class inherits, or an interface asks of it, is told there.
  const inherits = declared.heritageClauses !== undefined;
  return declared.members.filter((member) => {
    if (ts.isConstructorDeclaration(member) || ts.isSetAccessor(member)) return false;
    const isPrivate = member.name === undefined || ts.isPrivateIdentifier(member.name);
    return !isPrivate && !(inherits && ts.isMethodDeclaration(member));
  });
}

function declaredNames(statement: ts.Statement, tree: ts.SourceFile): string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => name.getText(tree));
  }
  const { name } = statement as Partial<ts.DeclarationStatement>;
  return name === undefined ? [] : [name.text];
}
