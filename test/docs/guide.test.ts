/** The programs in the documentation run: one process a page, its snippets one after the other. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const ROOT: string = join(import.meta.dirname, '..', '..', '..');
const SNIPPET = /```(?:ts|js)\n(.*?)```/gs;
const IMPORT = /^import .*;$/gm;
const RUN_MS_MAX = 60_000;

/** One module: what a snippet declares is known to the later ones. A page imports each name once. */
function programOf(page: string): string {
  const snippets = [...readFileSync(join(ROOT, page), 'utf8').matchAll(SNIPPET)].map(([, code = '']) => code);
  assert.ok(snippets.length > 0, `${page} has snippets`);
  const imports = new Set(snippets.flatMap((code) => code.match(IMPORT) ?? []));
  return [...imports, ...snippets.map((code) => code.replace(IMPORT, ''))].join('\n');
}

suite('documentation', () => {
  for (const page of ['README.md', 'docs/guide.md', 'docs/http.md', 'docs/backup.md']) {
    test(`the snippets of ${page} run`, () => {
      const workplace = temporaryDirectory();
      // Below the package, so that it is found by its own name.
      const folder = mkdtempSync(join(import.meta.dirname, 'snippets-'));
      const file = join(folder, 'page.mjs');
      try {
        writeFileSync(file, programOf(page));
        const { status, stderr } = spawnSync(process.execPath, [file], {
          cwd: workplace.path,
          encoding: 'utf8',
          timeout: RUN_MS_MAX,
        });
        assert.equal(status, 0, stderr);
      } finally {
        rmSync(folder, { recursive: true });
        workplace.remove();
      }
    });
  }
});
