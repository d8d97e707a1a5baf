/** The house rules of docs/style.md, held against every file of the repository. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { callBanViolations, defaultExportViolations, switchedOffTests, textBanViolations } from './tidy/bans.ts';
import { importCycles } from './tidy/cycles.ts';
import { undocumentedExports, unusedExports } from './tidy/exports.ts';
import { brokenLinks } from './tidy/links.ts';
import { missingFiles, missingScripts } from './tidy/mentions.ts';
import { foldersWithoutRank, rankViolations } from './tidy/ranks.ts';
import { entriesOf, type PackageEntries, unreachedFiles } from './tidy/reachability.ts';
import { parseSources, textFiles, type Violation } from './tidy/repository.ts';
import { packagesBeforeInstall } from './tidy/scripts.ts';
import { fileLengthViolations, functionLengthViolations, lineLengthViolations } from './tidy/sizes.ts';

/**
 * Files whose users are still being written. The list only shrinks: what is reached, or is gone, has to leave it.
 */
const NOT_YET_REACHED: readonly string[] = [];

const texts = textFiles();
const sources = parseSources(texts);
const engine = sources.filter(({ path }) => /^(src|workers|wasm)\//.test(path));
/** A suite of tests is a list: its length says nothing about how hard it is to read. */
const machinery = engine.filter(({ path }) => !path.startsWith('src/testing/'));
const scripts = texts.filter(({ path }) => /\.(ts|js|mjs)$/.test(path));
const paths = texts.map(({ path }) => path);

function expectNone(violations: readonly Violation[]): void {
  assert.ok(violations.length === 0, `${violations.length} violations\n${violations.join('\n')}`);
}

function textOf(path: string): string {
  const file = texts.find((candidate) => candidate.path === path);
  assert.ok(file !== undefined, `${path} is missing`);
  return file.text;
}

suite('structure', () => {
  test('every source folder has a rank', () => expectNone(foldersWithoutRank(paths)));
  test('imports go to lower ranks only', () => expectNone(rankViolations(sources)));
  test('imports form no cycle', () => expectNone(importCycles(engine)));
  test('what installs the packages needs none', () => {
    assert.ok(paths.includes('.ci/prepare.mjs'));
    expectNone(packagesBeforeInstall(texts, '.ci/prepare.mjs'));
  });

  const noIndex = paths.includes('src/index.ts') ? false : 'src/index.ts does not exist yet, so nothing can be reached';
  test('every source file is reached from an entry of the package', { skip: noIndex }, (context) => {
    const manifest = JSON.parse(textOf('package.json')) as PackageEntries;
    const unreached = unreachedFiles(engine, entriesOf(manifest, engine));
    for (const path of NOT_YET_REACHED) context.diagnostic(`not reached yet: ${path}`);
    expectNone(
      unreached.filter((path) => !NOT_YET_REACHED.includes(path)).map((path) => `${path}: nothing reaches it`),
    );
    const done = NOT_YET_REACHED.filter((path) => !unreached.includes(path));
    expectNone(done.map((path) => `${path}: take it off NOT_YET_REACHED`));
  });
});

suite('exports', () => {
  test('what the package exports has a docstring', () => {
    const manifest = JSON.parse(textOf('package.json')) as PackageEntries;
    expectNone(undocumentedExports(engine, entriesOf(manifest, [])));
  });

  test('what is exported is imported somewhere', () => {
    const manifest = JSON.parse(textOf('package.json')) as PackageEntries;
    const unused = unusedExports(sources, entriesOf(manifest, engine));
    // Tests may hold what only the next one needs.
    expectNone(unused.filter((violation) => !violation.startsWith('test/')));
  });
});

suite('sizes', () => {
  test('files are short enough', () => expectNone(fileLengthViolations(scripts)));
  test('functions of the engine are short enough', () => expectNone(functionLengthViolations(machinery)));
  test('lines are short enough', () => expectNone(lineLengthViolations(scripts)));
});

suite('bans', () => {
  test('no unfinished work, machine paths or switched-off checks', () => expectNone(textBanViolations(texts)));
  test('time and randomness come through their interfaces', () => expectNone(callBanViolations(engine)));
  test('no default exports', () => expectNone(defaultExportViolations(sources)));
  test('no test is switched off without a reason', () => {
    expectNone(switchedOffTests(sources.filter(({ path }) => path.startsWith('test/'))));
  });
});

suite('documents', () => {
  test('links between documents lead somewhere', () => expectNone(brokenLinks(texts, paths)));
  test('files that documents name are there', () => expectNone(missingFiles(texts, paths)));
  test('scripts that documents name are in package.json', () => {
    const { scripts: known } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> };
    expectNone(missingScripts(texts, Object.keys(known)));
  });
  test('the map of the code names every folder, but for tests of what it names', () => {
    const map = textOf('docs/architecture.md');
    const foldersIn = (top: string): string[] => [
      ...new Set(
        paths.filter((path) => path.startsWith(`${top}/`)).flatMap((path) => path.split('/').slice(1, -1).at(0) ?? []),
      ),
    ];
    const code = ['src', 'bench'].flatMap(foldersIn);
    const tests = foldersIn('test').filter((folder) => folder !== 'bench' && !code.includes(folder));
    expectNone([...code, ...tests].filter((folder) => !map.includes(`\`${folder}\``)));
  });
  test('every decision is in the index of decisions', () => {
    const index = textOf('docs/decisions/README.md');
    const decisions = paths.filter((path) => /^docs\/decisions\/\d/.test(path));
    expectNone(decisions.filter((path) => !index.includes(`(${path.replace('docs/decisions/', '')})`)));
  });
  test('every page is reached from the index of documents', () => {
    const index = textOf('docs/README.md');
    const pages = paths.filter((path) => /^docs\/[^/]+\.md$/.test(path) && path !== 'docs/README.md');
    expectNone(pages.filter((path) => !index.includes(`(${path.replace('docs/', '')})`)));
  });
});

suite('package', () => {
  test('the lockfile pins contents and names no registry', () => {
    const { packages } = JSON.parse(textOf('package-lock.json')) as {
      packages: Record<string, { resolved?: string; integrity?: string }>;
    };
    for (const [path, entry] of Object.entries(packages)) {
      assert.ok(entry.resolved === undefined, `${path} names where it was downloaded from`);
      assert.ok(path === '' || entry.integrity !== undefined, `${path} has no integrity`);
    }
  });
});
