/**
 * `npm run docs`: writes docs/errors.md from the comments in src/errors/codes.ts, so that a code and its meaning are
 * written once. With `--check` nothing is written; the exit code says whether the page is up to date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { ROOT } from './paths.mjs';

const SOURCE = 'src/errors/codes.ts';
const PAGE = 'docs/errors.md';

const INTRODUCTION = `# Errors

<!-- Written by \`npm run docs\` from ${SOURCE}: change the comments there. -->

Whatever millrace refuses or fails to do rejects with a \`MillraceError\`. Its \`code\` is stable: match on it, never on
the message, which is written for people and may change.

| property | meaning |
| --- | --- |
| \`code\` | which error it is: one of the codes below |
| \`kind\` | what it means to the caller: one of the headings below |
| \`retryable\` | whether the same call may succeed later without any repair |
| \`details\` | the facts behind it, for logs and tools: file, position, offsets |
| \`cause\` | the error of the system or service underneath, where there is one |

\`isMillraceError(error, code?)\` also recognises errors of another copy of the package, and errors from worker threads.
`;

const file = ts.createSourceFile(SOURCE, readFileSync(join(ROOT, SOURCE), 'utf8'), ts.ScriptTarget.ES2023, true);
const page = renderPage(readKinds(file), readCodes(file));

if (process.argv.includes('--check')) {
  const isCurrent = readFileSync(join(ROOT, PAGE), 'utf8') === page;
  if (!isCurrent) console.error(`${PAGE} differs from ${SOURCE}: run npm run docs`);
  process.exitCode = isCurrent ? 0 : 1;
} else {
  writeFileSync(join(ROOT, PAGE), page);
}

/** The members of the union `ErrorKind`, with their comments. */
function readKinds(tree) {
  const union = tree.statements.find((node) => ts.isTypeAliasDeclaration(node) && node.name.text === 'ErrorKind');
  return union.type.types.map((member) => ({ kind: member.literal.text, meaning: commentBefore(tree, member) }));
}

/** The properties of `ERROR_CODES`, with their comments. */
function readCodes(tree) {
  const declarations = tree.statements
    .filter(ts.isVariableStatement)
    .flatMap((node) => node.declarationList.declarations);
  const table = declarations.find((node) => node.name.text === 'ERROR_CODES');
  return table.initializer.expression.properties.map((property) => {
    const fields = Object.fromEntries(
      property.initializer.properties.map((field) => [field.name.text, field.initializer.getText()]),
    );
    return {
      code: property.name.text,
      meaning: commentBefore(tree, property),
      kind: fields.kind.slice(1, -1),
      retryable: fields.retryable === 'true',
    };
  });
}

/** The text of the comment between `node` and whatever stands in front of it, a `|` of a union included. */
function commentBefore(tree, node) {
  const siblings = node.parent.types ?? node.parent.properties;
  const index = siblings.indexOf(node);
  const from = index === 0 ? node.parent.pos : siblings[index - 1].end;
  const comment = /\/\*\*(.*?)\*\//s.exec(tree.text.slice(from, node.getStart()));
  if (comment === null) throw new Error(`${SOURCE}: ${node.getText()} has no comment to say what it means`);
  const lines = comment[1].split('\n').map((line) => line.replace(/^\s*\*/, '').trim());
  return lines.join(' ').trim();
}

function renderPage(kinds, codes) {
  const sections = kinds.map(({ kind, meaning }) => {
    const rows = codes
      .filter((code) => code.kind === kind)
      .map(({ code, meaning, retryable }) => `| \`${code}\` | ${retryable ? 'yes' : 'no'} | ${meaning} |`);
    return `\n## ${kind}\n\n${meaning}\n\n| code | retryable | meaning |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  return INTRODUCTION + sections.join('');
}
