import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { bytes, count, counted, pairs, ratio, table, time } from '../../src/cli/text.ts';

suite('text', () => {
  test('bytes have a unit and no more digits than mean something', () => {
    assert.deepEqual([0, 999, 1_000, 1_550, 99_949, 123_456, 5e9, 2e18].map(bytes), [
      '0 B',
      '999 B',
      '1.0 kB',
      '1.6 kB',
      '99.9 kB',
      '123 kB',
      '5.0 GB',
      '2000 PB',
    ]);
  });

  test('numbers have separators, and nouns their number', () => {
    assert.equal(count(1_234_567), '1,234,567');
    assert.deepEqual(
      [0, 1, 2].map((value) => counted(value, 'record')),
      ['0 records', '1 record', '2 records'],
    );
    assert.deepEqual([ratio(10, 4), ratio(10, 0)], ['2.50x', '-']);
  });

  test('a time that no calendar has stays a number', () => {
    assert.deepEqual([time(0), time(9e15)], ['1970-01-01T00:00:00.000Z', '9000000000000000']);
  });

  test('columns are as wide as they need to be, numbers flush right', () => {
    const rows = [
      ['a', 1_000, '-'],
      ['long name', 5, '1.5 kB'],
    ];
    assert.equal(
      table(['name', 'n', 'size'], rows),
      'name           n    size\na          1,000       -\nlong name      5  1.5 kB\n',
    );
    assert.equal(
      pairs([
        ['a', 1_000],
        ['bcd', 'x'],
      ]),
      'a    1,000\nbcd  x\n',
    );
  });
});
