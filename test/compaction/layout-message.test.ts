/** What crosses threads as numbers, the layout of a job and the runs that it wrote, is the same on the other side. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { LayoutOutput, LayoutParent, LayoutRun } from '../../src/compaction/layout.ts';
import { jobOutput, packLayout, unpackLayout } from '../../src/compaction/layout-message.ts';
import { packRun, RUN_COLUMNS } from '../../src/record/run-columns.ts';

const natural = fc.maxSafeNat();
const plain = { noNullPrototype: true } as const;

const parents: fc.Arbitrary<LayoutParent> = fc.record(
  {
    objectKey: fc.constantFrom('first', 'second', 'third'),
    byteOffset: natural,
    byteLength: natural,
    chunks: natural,
    records: natural,
    firstOffset: natural,
    nextOffset: natural,
    endOffset: natural,
    tracking: fc.boolean(),
  },
  plain,
);

const runs: fc.Arbitrary<LayoutRun> = fc.record(
  {
    streamId: natural,
    firstOffset: natural,
    nextOffset: natural,
    visibleFrom: natural,
    compression: fc.constantFrom('none' as const, 'lz4' as const),
    snapshot: fc.boolean(),
    keys: fc.constantFrom('all' as const, 'latest' as const, 'complete' as const),
    parents: fc.array(parents, { minLength: 1, maxLength: 4 }),
  },
  plain,
);

const outputs: fc.Arbitrary<LayoutOutput[]> = fc.array(
  fc.record({ generation: fc.nat(65_535), runs: fc.array(runs, { minLength: 1, maxLength: 5 }) }, plain),
  { maxLength: 4 },
);

suite('a job that crosses threads', () => {
  test('has its layout on the other side as it was planned', () => {
    fc.assert(
      fc.property(outputs, (planned) => {
        const sent = structuredClone(packLayout({ outputs: planned }));
        // Parents are made when they are asked for.
        const found = unpackLayout(sent).outputs.map(({ generation, runs: of }) => {
          return { generation, runs: of.map((run) => ({ ...run, parents: run.parents })) };
        });
        assert.deepEqual(found, planned);
      }),
    );
  });

  test('comes back as runs alone, which get their parents from the layout', () => {
    fc.assert(
      fc.property(outputs, natural, (planned, records) => {
        const packed = packLayout({ outputs: planned });
        for (const [number, output] of planned.entries()) {
          const written = output.runs.map(({ streamId, firstOffset, nextOffset }, index) => {
            const totals = { records, userBytes: index, trackingBytes: 0, firstTimestamp: -5, lastTimestamp: 2 ** 40 };
            const place = { byteOffset: 64 * index, byteLength: 64, chunks: 1 };
            return { streamId, firstOffset, nextOffset, ...totals, epoch: 3, ...place };
          });
          const numbers = new Float64Array(written.length * RUN_COLUMNS);
          for (const [index, run] of written.entries()) {
            packRun(numbers, index * RUN_COLUMNS, run, output.runs[index]?.snapshot ?? false);
          }
          const answer = structuredClone({ key: 'new', bytes: 4_096, checksum: '0'.repeat(16), runs: numbers });
          const found = jobOutput(packed, number, answer);
          const expected = written.map((run, index) => ({
            ...run,
            trackingSnapshot: output.runs[index]?.snapshot,
            parents: output.runs[index]?.parents.map(({ objectKey, byteOffset }) => ({ objectKey, byteOffset })),
          }));
          assert.deepEqual(found, { ...answer, generation: output.generation, runs: expected });
        }
      }),
    );
  });
});
