/**
 * The documentation runs: the programs of all pages in one process, one after the other, and the commands of each page
 * in a shell. Fragments, and whatever is written as TypeScript, are type checked against the package as it is built.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import ts from 'typescript';
import { open } from '../../src/index.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/temporary-directory.ts';
import { type Page, pageAt, programOf, ROOT, runnablePages, scriptOf, storesIn } from './snippets.ts';

const RUN_MS_MAX = 300_000;
/** Pages that are about other machines: all of their snippets are fragments. */
const FRAGMENT_PAGES = ['docs/diskless.md', 'docs/postgres.md'];
/** Runs each program in the directory given with it. What they print is for readers. */
const RUNNER = `
console.log = () => undefined;
for (const [file, directory] of JSON.parse(process.argv[2])) {
  process.chdir(directory);
  await import(file);
}
`;
const SHELL_PRELUDE = `set -euo pipefail
npx() { "$@"; }
millrace() { '${process.execPath}' '${join(ROOT, 'dist/bundle/cli.js')}' "$@"; }
`;

function writeTypedModules(folder: string, pages: readonly Page[]): string[] {
  const modules = pages.flatMap((page) => {
    const fragments = page.snippets.filter(({ language, isFragment }) => language !== 'sh' && isFragment);
    const typed = page.snippets.some(({ language, isFragment }) => language === 'ts' && !isFragment);
    return [
      ...fragments.map(({ line, code }) => ({ page, line, code: '\n'.repeat(line) + code })),
      ...(typed ? [{ page, line: 0, code: programOf(page) }] : []),
    ];
  });
  return modules.map(({ page, line, code }) => {
    const file = join(folder, `${basename(page.path, '.md')}.${String(line)}.mts`);
    writeFileSync(file, `${code}\nexport {};\n`);
    return file;
  });
}

function typeErrorsOf(files: readonly string[]): string[] {
  const program = ts.createProgram(files, {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.NodeNext,
    lib: ['lib.esnext.d.ts'],
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
  });
  return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const line = file === undefined ? '' : `:${String(file.getLineAndCharacterOfPosition(start).line + 1)}`;
    return `${basename(file?.fileName ?? '')}${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
  });
}

async function outcomeOf(child: ChildProcess): Promise<void> {
  assert.ok(child.stderr);
  const ended = once(child, 'close') as Promise<[number | null, string | null]>;
  const [errors, [code]] = await Promise.all([text(child.stderr), ended]);
  assert.equal(code, 0, errors);
}

suite('documentation', { concurrency: true }, () => {
  const pages = runnablePages();
  let workplace: TemporaryDirectory;
  /** Below the package: modules find it by its own name. */
  let folder: string;
  let template: string;

  before(async () => {
    workplace = temporaryDirectory();
    folder = mkdtempSync(join(import.meta.dirname, 'snippets-'));
    template = join(workplace.path, 'template');
    await (await open({ dir: template, wal: { slots: 3, slotBytes: 1024 * 1024 } })).close();
  });
  after(() => {
    rmSync(folder, { recursive: true });
    workplace.remove();
  });

  /** Stores are there before they are opened, with a small log: making so many of the default size takes a minute. */
  function directoryFor(name: string, code: string): string {
    const directory = join(workplace.path, name);
    mkdirSync(directory);
    for (const store of storesIn(code)) cpSync(template, join(directory, store), { recursive: true });
    return directory;
  }

  test('the programs of all pages run', async () => {
    const runner = join(folder, 'runner.mjs');
    writeFileSync(runner, RUNNER);
    const runs = pages.flatMap((page) => {
      const program = programOf(page);
      if (program === '') return [];
      const file = join(folder, `${basename(page.path, '.md')}.mjs`);
      writeFileSync(file, program);
      return [[file, directoryFor(`${basename(file)}.d`, program)]];
    });
    const args = [runner, JSON.stringify(runs)];
    await outcomeOf(spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: RUN_MS_MAX }));
  });

  for (const page of pages) {
    const script = scriptOf(page);
    if (script.trim() === '') continue;
    test(`the commands of ${page.path} run`, async () => {
      await outcomeOf(
        spawn('bash', ['-c', SHELL_PRELUDE + script], {
          cwd: directoryFor(basename(page.path), script),
          stdio: ['ignore', 'ignore', 'pipe'],
          timeout: RUN_MS_MAX,
        }),
      );
    });
  }

  test('fragments, and what is written as TypeScript, pass the type checker', () => {
    const checked = [...pages, ...FRAGMENT_PAGES.map(pageAt)];
    assert.deepEqual(typeErrorsOf(writeTypedModules(folder, checked)), []);
  });

  test('pages that do not run hold fragments only', () => {
    const others = FRAGMENT_PAGES.map(pageAt).filter((page) => programOf(page) !== '');
    assert.deepEqual(others, []);
  });
});
