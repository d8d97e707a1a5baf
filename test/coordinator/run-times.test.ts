/** What is known of the timestamps of a stream's runs without looking at each of them. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { RunList } from '../../src/coordinator/state/run-list.ts';
import { RUN, RunTable, type RunColumn } from '../../src/coordinator/state/run-table.ts';
import { RunTimes } from '../../src/coordinator/state/run-times.ts';

/** Counts what is looked at. */
class CountingTable extends RunTable {
  looks = 0;

  override get(row: number, column: RunColumn): number {
    this.looks += 1;
    return super.get(row, column);
  }
}

function addRow(table: RunTable, timestamp: number, records = 1): number {
  const row = table.allocate();
  table.set(row, RUN.streamId, 1);
  table.set(row, RUN.records, records);
  table.set(row, RUN.firstTimestamp, timestamp - 3);
  table.set(row, RUN.lastTimestamp, timestamp);
  return row;
}

const count = fc.nat({ max: 1_500 });
const timestamp = fc.oneof({ weight: 5, arbitrary: fc.nat({ max: 1_100 }) }, fc.constant(-Infinity));
const step = fc.oneof(
  fc.record({ do: fc.constant('push' as const), count, seed: fc.nat({ max: 1_000 }) }),
  fc.record({ do: fc.constant('shift' as const), count }),
  fc.record({ do: fc.constant('pop' as const), count: fc.nat({ max: 20 }) }),
  fc.record({ do: fc.constant('replace' as const), count: fc.nat({ max: 20 }), at: count, seed: fc.nat({ max: 20 }) }),
);

suite('timestamps of runs', () => {
  test('are what looking at every run says, whatever comes, goes and is replaced', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), count, timestamp, (steps, skip, time) => {
        const table = new RunTable();
        const list = new RunList();
        const times = new RunTimes(table, list);
        const made = (seed: number, index: number): number =>
          addRow(table, (seed * 7_919 + index * 31) % 1_009, index % 9);
        for (const move of steps) {
          const most = Math.min(move.count, list.length);
          if (move.do === 'push') for (let index = 0; index < move.count; index += 1) list.push(made(move.seed, index));
          else if (move.do === 'pop') for (let index = 0; index < most; index += 1) list.pop();
          else if (move.do === 'shift') {
            for (let index = 0; index < most; index += 1) table.free(list.at(index));
            list.shift(most);
          } else {
            const at = Math.min(move.at, list.length - most);
            list.replace(
              at,
              most,
              Array.from({ length: move.seed }, (_, index) => made(move.seed, index)),
            );
          }
          const from = Math.min(skip, list.length);
          const rows = Array.from({ length: list.length - from }, (_, index) => list.at(from + index));
          const held = rows.filter((row) => table.get(row, RUN.records) > 0);
          const found = rows.findIndex((row) => held.includes(row) && table.get(row, RUN.lastTimestamp) >= time);
          assert.equal(times.find(from, time), found < 0 ? -1 : from + found);
          assert.deepEqual(times.span(from), {
            first: Math.min(...held.map((row) => table.get(row, RUN.firstTimestamp))),
            last: Math.max(...held.map((row) => table.get(row, RUN.lastTimestamp))),
          });
        }
      }),
      { numRuns: 40 },
    );
  });

  test('of 200,000 runs are found by looking at a few, once they have been summed up', () => {
    const table = new CountingTable();
    const list = new RunList();
    const times = new RunTimes(table, list);
    for (let index = 0; index < 200_000; index += 1) list.push(addRow(table, index));
    assert.equal(times.find(0, 199_000), 199_000);
    table.looks = 0;
    list.push(addRow(table, 200_000));
    list.shift(1);
    assert.equal(times.find(0, 199_999), 199_998);
    assert.deepEqual(times.span(0), { first: -2, last: 200_000 });
    assert.ok(table.looks < 10_000, `${table.looks} looks`);
  });
});
