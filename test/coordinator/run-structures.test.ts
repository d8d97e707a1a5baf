import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { RunList } from '../../src/coordinator/state/run-list.ts';
import { RUN, RunTable } from '../../src/coordinator/state/run-table.ts';

type ListStep =
  | { readonly push: number }
  | { readonly shift: number }
  | { readonly pop: true }
  | { readonly replace: [number, number, number] };

const amount = fc.nat({ max: 40 });
const listStep: fc.Arbitrary<ListStep> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ push: amount }) },
  { weight: 2, arbitrary: fc.record({ shift: amount }) },
  { weight: 1, arbitrary: fc.constant({ pop: true } as const) },
  { weight: 2, arbitrary: fc.record({ replace: fc.tuple(amount, amount, amount) }) },
);

suite('run structures', () => {
  test('a run list is what an array would be', () => {
    fc.assert(
      fc.property(fc.array(listStep, { maxLength: 200 }), (history) => {
        const list = new RunList();
        const model: number[] = [];
        let next = 0;
        for (const step of history) {
          if ('push' in step) {
            for (let count = 0; count < step.push; count += 1) {
              list.push(next);
              model.push(next);
              next += 1;
            }
          } else if ('shift' in step) {
            const count = Math.min(step.shift, model.length);
            list.shift(count);
            model.splice(0, count);
          } else if ('pop' in step) {
            if (model.length === 0) continue;
            list.pop();
            model.pop();
          } else {
            const index = Math.min(step.replace[0], model.length);
            const count = Math.min(step.replace[1], model.length - index);
            const rows = Array.from({ length: step.replace[2] }, () => (next += 1));
            list.replace(index, count, rows);
            model.splice(index, count, ...rows);
          }
          assert.deepEqual(
            Array.from({ length: list.length }, (_, index) => list.at(index)),
            model,
          );
        }
      }),
    );
  });

  test('a run list refuses what lies outside', () => {
    const list = new RunList();
    assert.throws(() => list.at(0), /inside/);
    assert.throws(() => list.pop(), /no last/);
    list.push(1);
    assert.throws(() => list.shift(2), /no more/);
    assert.throws(() => list.replace(0, 2, []), /inside/);
  });

  test('rows of a run table keep their values, and freed ones come back as zeros', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 99 }), { maxLength: 3000, size: 'max' }), (history) => {
        const table = new RunTable();
        const model = new Map<number, number>();
        for (const [index, choice] of history.entries()) {
          const rows = [...model.keys()];
          const victim = rows[choice % Math.max(1, rows.length)];
          if (choice % 3 === 0 && victim !== undefined) {
            table.free(victim);
            model.delete(victim);
            continue;
          }
          const row = table.allocate();
          assert.ok(!model.has(row));
          for (const column of Object.values(RUN)) assert.equal(table.get(row, column), 0);
          table.set(row, RUN.streamId, index + 1);
          table.set(row, RUN.previousInObject, 2 ** 53 - 1 - index);
          model.set(row, index);
        }
        assert.equal(table.count, model.size);
        for (const [row, index] of model) {
          assert.equal(table.get(row, RUN.streamId), index + 1);
          assert.equal(table.get(row, RUN.previousInObject), 2 ** 53 - 1 - index);
        }
      }),
      { numRuns: 20 },
    );
  });

  test('a row is freed once', () => {
    const table = new RunTable();
    const row = table.allocate();
    table.set(row, RUN.streamId, 1);
    table.free(row);
    assert.throws(() => table.free(row), /once/);
  });
});
