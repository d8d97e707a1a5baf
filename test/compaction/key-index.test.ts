/** The index of keys against a map: whatever its size and its hashes, the latest record of each key is found. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { HASHES_END, KeyIndex } from '../../src/compaction/key-index.ts';
import { type KeyedRecord, selectLatest } from '../../src/compaction/key-selection.ts';

interface Row {
  readonly key: string;
  readonly isTombstone: boolean;
  readonly timestamp: number;
}

/** FNV-1a. */
function spread(key: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of key) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

const hashes: Readonly<Record<string, (key: Uint8Array) => number>> = {
  'well spread hashes': spread,
  'three hashes': (key) => ((spread(key) % 3) * 1_000_000_007) % HASHES_END,
  'one hash': () => 0,
  'the largest hash': () => HASHES_END - 1,
};

async function select(
  rows: readonly Row[],
  index: KeyIndex,
  completeUpTo: number,
): Promise<{ readonly kept: number[]; readonly passes: number }> {
  let passes = 0;
  const kept = await selectLatest(
    async (visit) => {
      passes += 1;
      rows.forEach(({ key, ...rest }, ordinal) => {
        visit({ ordinal, key: Buffer.from(key), ...rest } satisfies KeyedRecord);
      });
    },
    { index, records: rows.length, completeUpTo, tombstonesBefore: 50 },
  );
  return { kept: [...rows.keys()].filter((ordinal) => kept.isKept(ordinal)), passes };
}

function expected(rows: readonly Row[], completeUpTo: number): number[] {
  const latest = new Map(rows.map(({ key }, ordinal) => [key, ordinal]));
  return [...rows.keys()].filter((ordinal) => {
    const { key, isTombstone, timestamp } = rows[ordinal] as Row;
    if (latest.get(key) !== ordinal) return false;
    return !(isTombstone && timestamp < 50 && ordinal < completeUpTo);
  });
}

const key = fc.oneof(
  fc.string({ maxLength: 3 }),
  fc.nat(20).map((number) => `${'long key '.repeat(10)}${number}`),
  fc.constantFrom('', 'a', 'aa', 'a'.repeat(64), 'a'.repeat(65)),
);
const rows = fc.array(fc.record({ key, isTombstone: fc.boolean(), timestamp: fc.nat(100) }), {
  maxLength: 120,
  size: 'max',
});

suite('the latest record of each key', () => {
  for (const [name, hash] of Object.entries(hashes)) {
    test(`is kept with ${name}`, async () => {
      await fc.assert(
        fc.asyncProperty(rows, fc.double({ min: 0, max: 1, noNaN: true }), async (all, complete) => {
          const completeUpTo = Math.floor(all.length * complete);
          const index = new KeyIndex(hash, { keys: 256, bytes: 20_000 });
          assert.deepEqual((await select(all, index, completeUpTo)).kept, expected(all, completeUpTo));
          // The same index serves the next stream.
          assert.deepEqual((await select(all, index, 0)).kept, expected(all, 0));
        }),
        { numRuns: 50 },
      );
    });
  }

  test('is kept with an index far too small, in more passes', async () => {
    let most = 0;
    await fc.assert(
      fc.asyncProperty(rows, async (all) => {
        const index = new KeyIndex(spread, { keys: 8, bytes: 400 });
        const { kept, passes } = await select(all, index, 0);
        assert.deepEqual(kept, expected(all, 0));
        most = Math.max(most, passes);
      }),
    );
    assert.ok(most > 4, `${most} passes`);
  });

  test('is kept, and more, when keys that share a hash do not fit at all', async () => {
    await fc.assert(
      fc.asyncProperty(rows, async (all) => {
        const index = new KeyIndex(() => 5, { keys: 4, bytes: 100 });
        const { kept } = await select(all, index, all.length);
        const set = new Set(kept);
        const latest = new Map(all.map((row, ordinal) => [row.key, ordinal]));
        const keys = new Set(all.map((row) => row.key)).size;
        // A tombstone goes only when every key had its place: else an older record would come back to life.
        const mayGo =
          keys <= 4 ? (ordinal: number): boolean => all[ordinal]?.isTombstone === true : (): boolean => false;
        for (const ordinal of latest.values()) assert.ok(set.has(ordinal) || mayGo(ordinal), `record ${ordinal}`);
      }),
    );
  });
});
