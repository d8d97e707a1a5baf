import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { placeRuns } from '../../../src/coordinator/postgres/positions.ts';

test('a run behind everything gets the next position', () => {
  assert.deepEqual(
    placeRuns(
      ['a', 'b', 'new'],
      new Map([
        ['a', 3],
        ['b', 7],
      ]),
      8,
    ),
    { positions: [3, 7, 8], next: 9 },
  );
});

test('a run takes the place of the one it replaces, and keeps the order', () => {
  const known = new Map([
    ['a', 1],
    ['b', 2],
    ['c', 5],
    ['d', 6],
  ]);
  assert.deepEqual(placeRuns(['a', 'new', 'd'], known, 7), { positions: [1, 2, 6], next: 7 });
});

test('a run that is put between others without replacing one is a mistake', () => {
  assert.throws(
    () =>
      placeRuns(
        ['a', 'new', 'b'],
        new Map([
          ['a', 1],
          ['b', 2],
        ]),
        3,
      ),
    /replaces one/,
  );
});

test('whatever is replaced, kept runs stay and positions ascend in the order of the list', () => {
  const parts = fc.array(
    fc.record({ span: fc.integer({ min: 1, max: 3 }), replace: fc.boolean(), gap: fc.nat({ max: 4 }) }),
  );
  fc.assert(
    fc.property(parts, fc.nat({ max: 3 }), (stretches, appended) => {
      const known = new Map<string, number>();
      const keys: string[] = [];
      let position = 0;
      for (const [index, { span, replace, gap }] of stretches.entries()) {
        for (let step = 0; step < span; step += 1) {
          position += 1 + gap;
          known.set(`${index}.${step}`, position);
          if (!replace) keys.push(`${index}.${step}`);
        }
        if (replace) keys.push(`new ${index}`);
      }
      for (let index = 0; index < appended; index += 1) keys.push(`appended ${index}`);
      const { positions, next } = placeRuns(keys, known, position + 1);
      assert.equal(positions.length, keys.length);
      for (const [index, key] of keys.entries()) {
        if (known.has(key)) assert.equal(positions[index], known.get(key));
        assert.ok(index === 0 || positions[index]! > positions[index - 1]!);
        assert.ok(positions[index]! < next);
      }
    }),
  );
});
