/** The rules themselves: each must find the mistake it is there for, and leave its neighbours alone. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { callBanViolations, defaultExportViolations, switchedOffTests, textBanViolations } from './bans.ts';
import { importCycles } from './cycles.ts';
import { undocumentedExports, unusedExports } from './exports.ts';
import { brokenLinks } from './links.ts';
import { missingFiles, missingScripts } from './mentions.ts';
import { foldersWithoutRank, rankViolations } from './ranks.ts';
import { entriesOf, unreachedFiles } from './reachability.ts';
import { parseSource, type TextFile } from './repository.ts';
import { packagesBeforeInstall } from './scripts.ts';
import { fileLengthViolations, functionLengthViolations, lineLengthViolations } from './sizes.ts';

function rankCheck(path: string, specifier: string): number {
  return rankViolations([parseSource(path, `import { a } from '${specifier}';`)]).length;
}

suite('scripts before the installation', () => {
  const found = (text: string): number => {
    const files = [
      { path: '.ci/a.mjs', text: `import './b.mjs';` },
      { path: '.ci/b.mjs', text },
    ];
    return packagesBeforeInstall(files, '.ci/a.mjs').length;
  };

  test('import no package, wherever in what they import', () => {
    assert.equal(found(`import { build } from 'esbuild';`), 1);
    assert.equal(found(`export * from 'esbuild';`), 1);
  });

  test('may load one when it is there', () => {
    assert.equal(found(`import 'node:fs'; import './a.mjs'; export const build = () => import('esbuild');`), 0);
  });
});

suite('ranks', () => {
  test('down is allowed', () => {
    assert.equal(rankCheck('src/wal/writer.ts', '../record/run.ts'), 0);
    assert.equal(rankCheck('src/index.ts', './store/open.ts'), 0);
    assert.equal(rankCheck('workers/wal.worker.ts', '../src/wal/writer.ts'), 0);
    assert.equal(rankCheck('src/codec/lz4.ts', '../../wasm/lz4.ts'), 0);
  });

  test('up is refused', () => {
    assert.equal(rankCheck('src/record/run.ts', '../wal/writer.ts'), 1);
    assert.equal(rankCheck('src/store/open.ts', '../index.ts'), 1);
    assert.equal(rankCheck('wasm/lz4.ts', '../src/ring/layout.ts'), 1);
  });

  test('sideways is refused, except on the ground and among what the package offers', () => {
    assert.equal(rankCheck('src/wal/writer.ts', '../segment/writer.ts'), 1);
    assert.equal(rankCheck('src/wal/writer.ts', './reader.ts'), 0);
    assert.equal(rankCheck('src/limits/limits.ts', '../base/assert.ts'), 0);
    assert.equal(rankCheck('src/server.ts', './server/server.ts'), 0);
    assert.equal(rankCheck('src/cli/serve.ts', '../server/server.ts'), 0);
    assert.equal(rankCheck('src/server/append.ts', '../cli/ingest.ts'), 1);
    assert.equal(rankCheck('src/lines/line-reader.ts', '../store/open.ts'), 1);
  });

  test('a type import or a dynamic import is an import', () => {
    const typeOnly = parseSource('src/record/a.ts', `import type { a } from '../wal/a.ts';`);
    const dynamic = parseSource('src/record/b.ts', `await import('../wal/a.ts');`);
    const exported = parseSource('src/record/c.ts', `export * from '../wal/a.ts';`);
    assert.equal(rankViolations([typeOnly, dynamic, exported]).length, 3);
  });

  test('the engine knows neither workers nor tests nor benchmarks', () => {
    assert.equal(rankCheck('src/store/open.ts', '../../workers/wal.worker.ts'), 1);
    assert.equal(rankCheck('src/store/open.ts', '../../test/model/oracle.ts'), 1);
    assert.equal(rankCheck('src/store/open.ts', '../../bench/start.ts'), 1);
    assert.equal(rankCheck('src/segment/writer.ts', '../../wasm/lz4.ts'), 1);
  });

  test('the system’s files are reached in a few places only', () => {
    assert.equal(rankCheck('src/wal/writer.ts', 'node:fs'), 1);
    assert.equal(rankCheck('src/wal/writer.ts', 'fs/promises'), 1);
    assert.equal(rankCheck('src/base/node-file-system.ts', 'node:fs'), 0);
    assert.equal(rankCheck('src/store/lock.ts', 'node:fs'), 0);
    assert.equal(rankCheck('test/wal/writer.test.ts', 'node:fs'), 0);
  });

  test('a folder nobody ranked is named', () => {
    assert.deepEqual(foldersWithoutRank(['src/wal/a.ts', 'src/index.ts', 'src/helpers/a.ts']), ['helpers']);
  });
});

suite('graph', () => {
  test('a cycle is shown as its path', () => {
    const files = [
      parseSource('src/wal/a.ts', `import './b.ts';`),
      parseSource('src/wal/b.ts', `import type { c } from './c.ts';`),
      parseSource('src/wal/c.ts', `export { a } from './a.ts';`),
      parseSource('src/wal/d.ts', `import './a.ts';`),
    ];
    assert.deepEqual(importCycles(files), [
      'import cycle: src/wal/a.ts -> src/wal/b.ts -> src/wal/c.ts -> src/wal/a.ts',
    ]);
  });

  test('two ways to one file are no cycle', () => {
    const files = [
      parseSource('src/wal/a.ts', `import './b.ts'; import './c.ts';`),
      parseSource('src/wal/b.ts', `import './c.ts';`),
      parseSource('src/wal/c.ts', ''),
    ];
    assert.deepEqual(importCycles(files), []);
  });

  test('a file that only dead files import is dead, and one behind a module URL is not', () => {
    const files = [
      parseSource('src/index.ts', `export { a } from './wal/a.ts';`),
      parseSource('src/wal/a.ts', `export const a = new URL('./loaded.js', import.meta.url);`),
      parseSource('src/wal/loaded.ts', ''),
      parseSource('src/wal/dead.ts', `import './deader.ts';`),
      parseSource('src/wal/deader.ts', ''),
      parseSource('src/thread/used.ts', ''),
      parseSource('workers/wal.worker.ts', `import '../src/thread/used.ts';`),
    ];
    const manifest = { exports: { '.': { types: './dist/src/index.d.ts' }, './package.json': './package.json' } };
    const entries = entriesOf(manifest, files);
    assert.deepEqual(unreachedFiles(files, entries), ['src/wal/dead.ts', 'src/wal/deader.ts']);
  });
});

suite('exports', () => {
  const used = (importer: string): string[] => {
    const exporter = parseSource('src/wal/a.ts', 'export const a = 1; export interface B {} export function c() {}');
    return unusedExports([exporter, parseSource('src/wal/b.ts', importer)], []);
  };

  test('a value that nobody imports is found, a type is not', () => {
    assert.deepEqual(used(''), [
      'src/wal/a.ts:1: a is exported, and nobody imports it',
      'src/wal/a.ts:1: c is exported, and nobody imports it',
    ]);
  });

  test('imports by name, under another name, as a whole and of a type count', () => {
    assert.equal(used("import { a, c as d } from './a.ts';").length, 0);
    assert.equal(used("import * as all from './a.ts';").length, 0);
    assert.equal(used("export { a, c } from './a.ts';").length, 0);
    assert.equal(used("import { a } from './a.ts'; type C = typeof import('./a.ts').c;").length, 0);
  });

  test('what an entry hands on needs a docstring, and so do its public members', () => {
    const entry = parseSource('src/index.ts', "export { a, B as C } from './a.ts';");
    const file = (text: string): string[] =>
      undocumentedExports([entry, parseSource('src/a.ts', text)], ['src/index.ts']).map((found) => found.slice(0, 10));
    assert.deepEqual(file('/** A. */ export const a = 1;\n/** B. */ export interface B {}\nexport interface D {}'), []);
    assert.deepEqual(file('export const a = 1;\n// B.\nexport interface B {}'), ['src/a.ts:1', 'src/a.ts:3']);
    const members = '/** B. */\nexport interface B {\n  /** Told. */\n  c: 1;\n  d(): void;\n}';
    assert.deepEqual(file(members), ['src/a.ts:5']);
    const inherited = '/** A. */\nexport class a implements I {\n  e = 1;\n  #f = 2;\n  constructor() {}\n  g() {}\n}';
    assert.deepEqual(file(inherited), ['src/a.ts:3']);
  });

  test('an entry may export what it likes', () => {
    assert.equal(unusedExports([parseSource('src/index.ts', 'export const a = 1;')], ['src/index.ts']).length, 0);
  });
});

suite('sizes', () => {
  test('the first line too many is one too many', () => {
    const lines = (count: number): string => 'a;\n'.repeat(count);
    assert.equal(fileLengthViolations([{ path: 'src/wal/a.ts', text: lines(500) }]).length, 0);
    assert.equal(fileLengthViolations([{ path: 'src/wal/a.ts', text: lines(501) }]).length, 1);
    assert.equal(fileLengthViolations([{ path: 'workers/wal.worker.ts', text: lines(80) }]).length, 0);
    assert.equal(fileLengthViolations([{ path: 'workers/wal.worker.ts', text: lines(81) }]).length, 1);
  });

  test('comments and blank lines do not make a function long', () => {
    const body = (statement: string, count: number): string => `const f = () => {\n${statement.repeat(count)}};\n`;
    const check = (text: string): number => functionLengthViolations([parseSource('src/wal/a.ts', text)]).length;
    assert.equal(check(body('a();\n', 68)), 0);
    assert.equal(check(body('a();\n', 69)), 1);
    assert.equal(check(body('  // why\n\n', 200)), 0);
  });

  test('columns are counted as characters', () => {
    assert.equal(lineLengthViolations([{ path: 'a.ts', text: '·'.repeat(120) }]).length, 0);
    assert.equal(lineLengthViolations([{ path: 'a.ts', text: '\n' + '·'.repeat(121) }]).length, 1);
  });
});

suite('bans', () => {
  test('unfinished work is found in any text', () => {
    assert.equal(textBanViolations([{ path: 'docs/a.md', text: 'first\nTODO: second' }]).length, 1);
    assert.equal(textBanViolations([{ path: 'docs/a.md', text: 'a todo list, HACKING' }]).length, 0);
  });

  test('paths of one machine are found, paths of a store are not', () => {
    const check = (text: string): number => textBanViolations([{ path: 'docs/a.md', text }]).length;
    for (const folder of ['tmp', 'home', 'root', 'work', 'Users']) {
      for (const path of [`/${folder}/x`, `open('/${folder}/data')`, `cd /${folder}/somebody`]) {
        assert.equal(check(path), 1, path);
      }
      for (const path of [`src/${folder}/file`, `open('./${folder}/data')`]) assert.equal(check(path), 0, path);
    }
    assert.equal(check(['C:', 'Users', 'me'].join('\\')), 1);
    assert.equal(check('/dev/shm/x'), 0);
  });

  test('the clock is banned where the engine runs, and allowed where it is made', () => {
    const check = (path: string, text: string): number => callBanViolations([parseSource(path, text)]).length;
    assert.equal(check('src/wal/writer.ts', 'const a = Date.now();'), 1);
    assert.equal(check('src/wal/writer.ts', 'const a = new Date();'), 1);
    assert.equal(check('src/wal/writer.ts', 'const a = new Date(clock.now());'), 0);
    assert.equal(check('src/wal/writer.ts', '// Date.now() would jump'), 0);
    assert.equal(check('src/base/clock.ts', 'const a = Date.now();'), 0);
    assert.equal(check('src/base/clock.ts', 'const a = Math.random();'), 1);
  });

  test('every way to write a default export is one', () => {
    const check = (text: string): number => defaultExportViolations([parseSource('src/wal/a.ts', text)]).length;
    assert.equal(check('export default 1;'), 1);
    assert.equal(check('export default function a() {}'), 1);
    assert.equal(check('const a = 1; export { a as default };'), 1);
    assert.equal(check('switch (a) { case 1: break; default: b(); }'), 0);
  });

  test('a test that is switched off needs a reason', () => {
    const check = (text: string): number => switchedOffTests([parseSource('test/a.test.ts', text)]).length;
    // Texts that the rule is given: no test of this repository is switched off here.
    assert.equal(check(`test.only('a', () => {});`), 1);
    assert.equal(check(`describe.skip('a', () => {});`), 1);
    assert.equal(check(`test('a', { skip: true }, () => {});`), 1);
    assert.equal(check(`test('a', (t) => { t.skip(); });`), 1);
    assert.equal(check(`test('a', (t) => { t.skip('no direct I/O here'); });`), 0);
    assert.equal(check(`test('a', { skip: needsRoot }, () => {});`), 0);
    assert.equal(check(`reader.skip(4);`), 0);
  });
});

suite('documents', () => {
  test('a file, a folder or a script that is not there is found where it is named', () => {
    const page = (text: string): TextFile[] => [{ path: 'docs/page.md', text }];
    const paths = ['src/wal/writer.ts'];
    assert.deepEqual(missingFiles(page('`src/wal/`, `src/wal`, `src/wal/writer.ts` and `writer.ts`'), paths), []);
    assert.equal(missingFiles(page('`src/wal/reader.ts`, `src/segment/` and `reader.ts`'), paths).length, 3);
    assert.deepEqual(missingScripts(page('`npm run bench:load -- --quick`'), ['bench:load']), []);
    assert.equal(missingScripts(page('run `npm run bench`'), ['bench:load']).length, 1);
  });

  test('a link to nothing is found, links to files, folders and elsewhere are not', () => {
    const text = '[a](b.md) [c](../LICENSE#top) [d](formats/) [e](https://example.org/x) [f](#below) [g](gone.md)';
    const paths = ['docs/a.md', 'docs/b.md', 'docs/formats/wal.md', 'LICENSE'];
    assert.deepEqual(brokenLinks([{ path: 'docs/a.md', text }], paths), [
      'docs/a.md: the link to gone.md leads nowhere',
    ]);
  });
});
