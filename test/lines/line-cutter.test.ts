import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { LineMemory } from '../../src/codec/line-memory.ts';
import { LineCutter } from '../../src/lines/line-cutter.ts';
import { lineMemories } from '../support/packed-lines.ts';

const AREA_BYTES = 100;

interface Cutting {
  readonly maxLineBytes?: number;
  readonly trim?: boolean;
  /** Chunks lie in the memory, as reads of a file do, and not elsewhere. */
  readonly inPlace?: boolean;
}

/** Delivers lines as text, and overwrites the memory each time, as those do who share it. */
function cut(
  memory: LineMemory,
  chunks: readonly Buffer[],
  deliver: (line: string) => void,
  { maxLineBytes = Infinity, trim = false, inPlace = false }: Cutting = {},
): void {
  const cutter = new LineCutter(memory, maxLineBytes, trim);
  const [scratch, area] = memory.inputs as [Buffer, Buffer];
  let count = 0;
  const take = (pieces: ReturnType<LineCutter['cut']>): void => {
    for (const lines of pieces) {
      assert.ok(lines.length > 0, 'nothing is delivered in vain');
      assert.equal(
        lines.valueBytes,
        lines.values().reduce((sum, value) => sum + value.length, 0),
      );
      for (const value of lines.values()) deliver(value.toString('latin1'));
      count += lines.length;
      scratch.fill('\n');
    }
  };
  for (const chunk of chunks) {
    area.fill(0xee);
    take(cutter.cut(inPlace ? area.subarray(0, chunk.copy(area)) : chunk));
  }
  take(cutter.end());
  assert.equal(cutter.lines, count);
}

function linesOf(memory: LineMemory, chunks: readonly Buffer[], cutting?: Cutting): string[] {
  const lines: string[] = [];
  cut(memory, chunks, (line) => lines.push(line), cutting);
  return lines;
}

/** Runs of a byte, so that lines of every length lie at every place of the kernel's 64 bytes. */
const chunk = fc
  .array(fc.tuple(fc.constantFrom(10, 10, 13, 0, 97, 255), fc.integer({ min: 1, max: 40 }), fc.boolean()), {
    maxLength: 12,
  })
  .map((runs) =>
    Buffer.concat(runs.map(([byte, length, long]) => Buffer.alloc(long && byte !== 10 ? length : 1, byte))),
  );

for (const [name, memory] of lineMemories(2, AREA_BYTES)) {
  describe(`a line cutter in ${name}`, () => {
    it('finds the same lines wherever the chunks are cut, and wherever they lie', () => {
      fc.assert(
        fc.property(fc.array(chunk, { maxLength: 8 }), fc.boolean(), fc.boolean(), (chunks, trim, inPlace) => {
          const expected = Buffer.concat(chunks).toString('latin1').split('\n');
          if (expected.at(-1) === '') expected.pop();
          const trimmed = trim ? expected.map((line) => line.replace(/\r$/, '')) : expected;
          const fitting = inPlace ? chunks.flatMap((bytes) => piecesOf(bytes, AREA_BYTES)) : chunks;
          assert.deepEqual(linesOf(memory, fitting, { trim, inPlace }), trimmed);
        }),
        { numRuns: 500 },
      );
    });

    it('takes a line at the limit and refuses one byte more, behind the lines before it', () => {
      assert.deepEqual(linesOf(memory, [Buffer.from('1234\n')], { maxLineBytes: 4 }), ['1234']);
      for (const inPlace of [false, true]) {
        for (const chunks of [['ok\n12345\n'], ['ok\n123', '45\n'], ['ok\n12345'], ['ok\n', '1', '2', '3', '4', '5']]) {
          const lines: string[] = [];
          const bytes = chunks.map((text) => Buffer.from(text));
          const cutting = { maxLineBytes: 4, inPlace };
          assert.throws(
            () => {
              cut(memory, bytes, (line) => lines.push(line), cutting);
            },
            { code: 'ERR_MILLRACE_RECORD_TOO_LARGE', details: { line: 2, maxBytes: 4 } },
          );
          assert.deepEqual(lines, ['ok']);
        }
      }
    });
  });
}

function piecesOf(bytes: Buffer, length: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
    bytes.subarray(index * length, (index + 1) * length),
  );
}
