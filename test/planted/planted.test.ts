/** The list of planted bugs cannot rot: each still has its place, its suite, and its row in the docs. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { plant, type PlantedBug } from './bug.ts';
import { PLANTED_BUGS, tableOf, turnOf } from './catalogue.ts';
import { ROOT } from './tree.ts';

const text = (...path: string[]): string => readFileSync(join(ROOT, ...path), 'utf8');

describe('a planted bug', () => {
  it('changes one place of the production code', () => {
    for (const bug of PLANTED_BUGS) {
      assert.match(bug.file, /^(src|workers)\//);
      const right = text(bug.file);
      assert.notEqual(plant(right, bug), right, bug.name);
    }
  });

  it('is refused when its place is gone, or when there are two', () => {
    const bug: PlantedBug = { ...(PLANTED_BUGS[0] as PlantedBug), source: 'await sync();', replacement: '' };
    assert.equal(plant('write(); await sync(); ack();', bug), 'write();  ack();');
    assert.throws(() => plant('write(); ack();', bug), /does not have this/);
    assert.throws(() => plant('await sync(); await sync();', bug), /more than once/);
  });

  it('names a test file that is there', () => {
    for (const { name, caughtBy } of PLANTED_BUGS) {
      const file = join('test', `${caughtBy.file}.test.ts`);
      assert.ok(existsSync(join(ROOT, file)), `${name}: ${file} is not there`);
    }
  });

  it('has a name of its own, and its row in docs/durability.md', () => {
    assert.equal(new Set(PLANTED_BUGS.map(({ name }) => name)).size, PLANTED_BUGS.length);
    const [, rest = ''] = text('docs', 'durability.md').split('| planted bug |');
    const [, , ...rows] = (rest.split('\n\n')[0] ?? '').trimEnd().split('\n');
    assert.deepEqual(rows, tableOf(PLANTED_BUGS).split('\n'));
  });

  it('has its turn: seeds that follow each other leave none out', () => {
    const turns = Math.ceil(PLANTED_BUGS.length / 7);
    const taken = Array.from({ length: turns }, (_, seed) => turnOf(PLANTED_BUGS, 7, 1_000 + seed)).flat();
    assert.equal(new Set(taken).size, PLANTED_BUGS.length);
  });
});
