/** How long files, functions and lines may be: what fits a head, a screen, and two windows side by side. */
import ts from 'typescript';
import { type SourceFile, type TextFile, type Violation, violationAt, walk } from './repository.ts';

const FILE_LINES_MAX = 500;
const WORKER_LINES_MAX = 80;
const FUNCTION_LINES_MAX = 70;
const LINE_COLUMNS_MAX = 120;

export function fileLengthViolations(files: readonly TextFile[]): Violation[] {
  return files.flatMap(({ path, text }) => {
    const lines = text.trimEnd().split('\n').length;
    if (path.startsWith('workers/') && lines > WORKER_LINES_MAX) {
      return [`${path}: ${lines} lines, a worker entry has ${WORKER_LINES_MAX}: its logic belongs into src`];
    }
    return lines > FILE_LINES_MAX ? [`${path}: ${lines} lines, at most ${FILE_LINES_MAX}: split it by role`] : [];
  });
}

/** A test's title, and a line of a template that goes on, say what they say in one piece. */
const TEST_TITLE = /^\s*((test|it|describe)\(['`]|`.*` \+$)/;

export function lineLengthViolations(files: readonly TextFile[]): Violation[] {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => {
      const columns = line.length;
      return columns > LINE_COLUMNS_MAX && !TEST_TITLE.test(line)
        ? [`${path}:${index + 1}: ${columns} columns, at most ${LINE_COLUMNS_MAX}`]
        : [];
    }),
  );
}

/** Counts lines that hold code: a comment that explains a step should not force the step elsewhere. */
export function functionLengthViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap((file) => {
    const found: Violation[] = [];
    walk(file, (node) => {
      if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return;
      const lines = codeLines(node.getText(file.tree));
      if (lines <= FUNCTION_LINES_MAX) return;
      found.push(
        violationAt(file, node, `a function of ${lines} lines, at most ${FUNCTION_LINES_MAX}: name its steps`),
      );
    });
    return found;
  });
}

function codeLines(text: string): number {
  return text.split('\n').filter((line) => !/^\s*(\/\/|\/\*|\*|$)/.test(line)).length;
}
