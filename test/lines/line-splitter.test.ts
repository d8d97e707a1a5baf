import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { LineSplitter } from '../../src/lines/line-splitter.ts';

function split(chunks: readonly Buffer[], maxLineBytes = Infinity): string[] {
  const splitter = new LineSplitter(maxLineBytes);
  const lines: string[] = [];
  const visit = (line: Buffer): void => {
    lines.push(line.toString('latin1'));
  };
  for (const chunk of chunks) splitter.push(chunk, visit);
  splitter.end(visit);
  assert.equal(splitter.lines, lines.length);
  return lines;
}

suite('line splitter', () => {
  test('lines are the same wherever the chunks are cut', () => {
    const chunk = fc
      .array(fc.constantFrom(10, 10, 13, 0, 97, 255), { maxLength: 12 })
      .map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 12 }), (chunks) => {
        const expected = Buffer.concat(chunks).toString('latin1').split('\n');
        if (expected.at(-1) === '') expected.pop();
        assert.deepEqual(split(chunks), expected);
      }),
    );
  });

  test('a line at the limit passes, one byte more does not, and the lines before it were delivered', () => {
    assert.deepEqual(split([Buffer.from('1234\n')], 4), ['1234']);
    for (const chunks of [['ok\n12345\n'], ['ok\n123', '45\n'], ['ok\n12345'], ['ok\n', '1', '2', '3', '4', '5']]) {
      const splitter = new LineSplitter(4);
      const lines: string[] = [];
      assert.throws(
        () => {
          for (const chunk of chunks) splitter.push(Buffer.from(chunk), (line) => lines.push(line.toString()));
        },
        { code: 'ERR_MILLRACE_RECORD_TOO_LARGE', details: { line: 2, maxBytes: 4 } },
      );
      assert.deepEqual(lines, ['ok']);
    }
  });
});
