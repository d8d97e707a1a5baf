/** What the sources may not contain, each with what to write instead. */
import ts from 'typescript';
import { type SourceFile, type TextFile, type Violation, violationAt, walk } from './repository.ts';

interface TextBan {
  readonly pattern: RegExp;
  readonly instead: string;
  /** Paths the ban does not hold for. */
  readonly except?: RegExp;
}

interface CallBan {
  /** The called expression as written, or `new` and the class for a construction without arguments. */
  readonly callee: string;
  readonly instead: string;
  readonly except: RegExp;
}

/** Bans on any text of the repository. The tidy rules name what they ban, so they are exempt from these. */
const TEXT_BANS: readonly TextBan[] = [
  {
    // These words stand here because the rule looks for them.
    pattern: /\b(TODO|FIXME|XXX|HACK)\b/,
    instead: 'do it now, or describe the limit where users read about it',
    except: /^test\/tidy\//,
  },
  {
    pattern: /(^|[\s"'`(=:])(\/(work|root|tmp|home|Users)\/|[A-Z]:\\Users\\)/,
    instead: 'a path of one machine: take os.tmpdir(), import.meta.dirname or a relative path',
    except: /^test\/tidy\//,
  },
  {
    pattern: /registry\.(npmjs|yarnpkg)\./,
    instead: 'registries are the business of each user’s npm configuration',
    except: /^test\/tidy\//,
  },
  {
    // Nothing is disabled here: these are the comments that the rule looks for.
    pattern: /eslint-disable|@ts-ignore|@ts-nocheck|prettier-ignore/,
    instead: 'repair the code, or change the rule for everybody',
    except: /^(test\/tidy\/|docs\/style\.md$|CONTRIBUTING\.md$)/,
  },
];

const CLOCK = /^src\/(base\/clock\.ts$|cli\/)/;
const RANDOM = /^src\/(base\/random\.ts$|cli\/)/;

/** Bans on calls in the engine: one seed and one clock must be able to replay it. */
const CALL_BANS: readonly CallBan[] = [
  { callee: 'Date.now', instead: 'Clock.now of src/base/clock.ts', except: CLOCK },
  { callee: 'new Date', instead: 'Clock.now of src/base/clock.ts', except: CLOCK },
  { callee: 'performance.now', instead: 'Clock.monotonic of src/base/clock.ts', except: CLOCK },
  { callee: 'process.hrtime', instead: 'Clock.monotonic of src/base/clock.ts', except: CLOCK },
  { callee: 'Math.random', instead: 'Random of src/base/random.ts', except: RANDOM },
  { callee: 'randomUUID', instead: 'Random of src/base/random.ts', except: RANDOM },
  { callee: 'randomBytes', instead: 'Random of src/base/random.ts', except: RANDOM },
];

export function textBanViolations(files: readonly TextFile[]): Violation[] {
  return files.flatMap(({ path, text }) => {
    const bans = TEXT_BANS.filter(({ except }) => except?.test(path) !== true);
    return text.split('\n').flatMap((line, index) =>
      bans.flatMap(({ pattern, instead }) => {
        const match = pattern.exec(line);
        return match === null ? [] : [`${path}:${index + 1}: ${match[0].trim()}: ${instead}`];
      }),
    );
  });
}

export function callBanViolations(files: readonly SourceFile[]): Violation[] {
  return collect(files, (file, node) => {
    const callee = calledName(node);
    const ban = CALL_BANS.find((candidate) => candidate.callee === callee && !candidate.except.test(file.path));
    return ban && `${ban.callee}: use ${ban.instead}`;
  });
}

export function defaultExportViolations(files: readonly SourceFile[]): Violation[] {
  return collect(files, (_file, node) => {
    const isDefault =
      ts.isExportAssignment(node) ||
      node.kind === ts.SyntaxKind.DefaultKeyword ||
      (ts.isExportSpecifier(node) && node.name.text === 'default');
    const isSwitchCase = ts.isCaseOrDefaultClause(node.parent);
    return isDefault && !isSwitchCase
      ? 'a default export: name it, so that every importer uses the same word'
      : undefined;
  });
}

const TEST_FUNCTIONS = /^(test|it|describe|suite)$/;

/** Tests that are switched off, or switch all others off. */
export function switchedOffTests(files: readonly SourceFile[]): Violation[] {
  return collect(files, (_file, node) => {
    if (ts.isPropertyAssignment(node) && /^(skip|only|todo)$/.test(node.name.getText())) {
      const isFlag = node.initializer.kind === ts.SyntaxKind.TrueKeyword;
      return isFlag ? `${node.name.getText()}: true: say why, { skip: 'the reason' }` : undefined;
    }
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
    const { expression: owner, name } = node.expression;
    const isTest = TEST_FUNCTIONS.test(owner.getText());
    if (isTest && /^(only|skip|todo)$/.test(name.text))
      return `.${name.text}( on a test: { skip: 'the reason' } prints why`;
    const isContext = /^(t|context)$/.test(owner.getText());
    const isSilent = isContext && name.text === 'skip' && node.arguments.length === 0;
    return isSilent ? '.skip( without a reason: pass what is missing, it is printed' : undefined;
  });
}

function collect(
  files: readonly SourceFile[],
  judge: (file: SourceFile, node: ts.Node) => string | undefined,
): Violation[] {
  return files.flatMap((file) => {
    const found: Violation[] = [];
    walk(file, (node) => {
      const message = node.kind === ts.SyntaxKind.SourceFile ? undefined : judge(file, node);
      if (message !== undefined) found.push(violationAt(file, node, message));
    });
    return found;
  });
}

function calledName(node: ts.Node): string | undefined {
  if (ts.isCallExpression(node)) return node.expression.getText();
  if (ts.isNewExpression(node) && (node.arguments?.length ?? 0) === 0) return `new ${node.expression.getText()}`;
  return undefined;
}
