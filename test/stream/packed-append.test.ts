/** Values that lie together, against the same ones appended one by one. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { loadChecksum } from '../../src/codec/checksum.ts';
import type { LineMemory } from '../../src/codec/line-memory.ts';
import { MIB } from '../../src/limits/limits.ts';
import { PackedValues } from '../../src/record/packed-values.ts';
import type { RingGeometry } from '../../src/ring/geometry.ts';
import { lineMemories, packed } from '../support/packed-lines.ts';
import { SMALL_RING } from '../support/stepped-lane.ts';
import { SteppedWal } from '../support/stepped-wal.ts';

/** Long enough for a frame of their own, and short enough for thousands in one. */
const value = fc
  .tuple(fc.constantFrom(0, 1, 3, 7, 8, 12, 16, 100, 1_000, 9_000, 48_000), fc.nat(40), fc.integer({ min: 11 }))
  .map(([length, extra, fill]) => Buffer.alloc(length + extra, 11 + (fill % 240)));
const group = fc.oneof(
  { weight: 3, arbitrary: fc.array(value, { minLength: 1, maxLength: 12 }) },
  fc
    .tuple(fc.integer({ min: 1, max: 3_000 }), fc.nat(40))
    .map(([count, length]) => Array.from({ length: count }, (_, index) => Buffer.alloc(length, 11 + (index % 200)))),
);

interface Ring {
  readonly geometry: RingGeometry;
  /** Fillings that are freed, one by one, for what waits. */
  readonly flushes: number;
}

/** What is in the ring after groups were appended, some as packed values and the others one by one. */
async function ringAfter(
  { geometry, flushes }: Ring,
  groups: readonly (readonly Buffer[])[],
  shift: number,
  memoryOf: (index: number) => LineMemory | undefined,
): Promise<Buffer> {
  const wal = await SteppedWal.open({ geometry });
  const stream = wal.stream(1);
  const appended = groups.map((values, index) => {
    const memory = memoryOf(index);
    if (memory === undefined) return wal.lane.appendMany(stream, values);
    const offset = wal.lane.appendMany(stream, packed(memory, values, shift));
    memory.inputs[0]?.fill('\n');
    return offset;
  });
  assert.equal(wal.lane.queuedBytes > 0, flushes > 0, 'some wait for room, or none');
  for (let count = 0; count < flushes; count += 1) await wal.flush();
  await wal.write();
  const firsts: number[] = [];
  let [records, userBytes] = [0, 0];
  for (const values of groups) {
    firsts.push(records);
    records += values.length;
    for (const { length } of values) userBytes += length;
  }
  assert.deepEqual(await Promise.all(appended), firsts);
  assert.deepEqual([stream.nextOffset, stream.userBytes], [records, userBytes]);
  return Buffer.from(wal.lane.producer.bytes.slice());
}

for (const [name, memory] of lineMemories(1, MIB)) {
  describe(`values packed in ${name}`, () => {
    before(loadChecksum);

    it('leave the same bytes in the ring as the same values one by one', async () => {
      const groups = fc.array(group, { minLength: 1, maxLength: 6 });
      await fc.assert(
        fc.asyncProperty(groups, fc.nat(17), fc.infiniteStream(fc.boolean()), async (values, shift, choices) => {
          const chosen = values.map(() => choices.next().value === true);
          const ring = { geometry: { slots: 2, slotBytes: 4 * MIB }, flushes: 0 };
          const one = await ringAfter(ring, values, shift, () => undefined);
          const other = await ringAfter(ring, values, shift, (index) => (chosen[index] ? memory : undefined));
          assert.ok(one.equals(other));
        }),
        { numRuns: 25 },
      );
    });

    it('are kept while they wait for room, whatever becomes of their memory', async () => {
      const values = Array.from({ length: 900 }, (_, index) => Buffer.from(`${index}.`.padEnd(index % 700, 'x')));
      const groups = [values.slice(0, 600), values.slice(600), values.slice(0, 100)];
      const ring = { geometry: SMALL_RING, flushes: 6 };
      const one = await ringAfter(ring, groups, 0, () => undefined);
      const other = await ringAfter(ring, groups, 0, () => memory);
      assert.ok(one.equals(other));
    });

    it('are refused as a whole, at once, when one is too large', async () => {
      const wal = await SteppedWal.open({ maxRecordBytes: 100 });
      const values = packed(memory, ['ok', 'x'.repeat(101)]);
      assert.throws(() => wal.lane.appendMany(wal.stream(1), values), { code: 'ERR_MILLRACE_RECORD_TOO_LARGE' });
      assert.equal(wal.stream(1).nextOffset, 0);
      assert.equal(await wal.lane.appendMany(wal.stream(1), new PackedValues(Buffer.alloc(0), new Uint32Array(0))), 0);
    });
  });
}
