/** Bugs of compaction: what it may leave out, and what it must not. */
import { type PlantedBug, test } from '../bug.ts';

const REWRITER = 'src/compaction/run-rewriter.ts';
const SELECTION = 'src/compaction/key-selection.ts';

export const COMPACTION_BUGS: readonly PlantedBug[] = [
  {
    name: 'live run left out by a merge',
    file: REWRITER,
    source: `for (const parent of run.parents) {`,
    replacement: `for (const parent of run.parents.slice(-2)) {`,
    breaks: 'a merge keeps every record that can be read',
    caughtBy: test('compaction/rewrite', 'makes one object of many, in which readers see the same records'),
  },
  {
    name: 'last chunk of a run left out by a merge',
    file: REWRITER,
    source: `if (end <= from || firstOffset >= to) {`,
    replacement: `if (end <= from || end >= to) {`,
    breaks: 'a merge keeps every record that can be read',
    caughtBy: test('compaction/rewrite', 'makes one object of many, in which readers see the same records'),
  },
  {
    name: 'snapshot missing in the output of a merge',
    file: REWRITER,
    source: `if (run.snapshot && tracking !== undefined) {`,
    replacement: `if (run.snapshot && tracking !== undefined && tracking.length < 0) {`,
    breaks: 'stored offsets and publishing ids survive compaction',
    caughtBy: test('compaction/rewrite', 'go although a run in front stays for its tracking'),
  },
  {
    name: 'key compaction drops the newest record',
    file: SELECTION,
    source: `else if (before >= 0) kept.drop(before);`,
    replacement: `else if (before >= 0) kept.drop(record.ordinal);`,
    breaks: 'key compaction keeps the latest record of each key',
    caughtBy: test('compaction/rewrite', 'keeps the latest record of each key at its own offset'),
  },
  {
    name: 'keys with one hash taken for one key',
    file: 'src/compaction/key-index.ts',
    source: `if (bytesEqual(this.#arena.subarray(at, at + held.length), held)) return slot;`,
    replacement: `if (at >= 0 || bytesEqual(this.#arena, held)) return slot;`,
    breaks: 'key compaction keeps the latest record of each key',
    caughtBy: test('compaction/key-index', 'is kept with three hashes'),
  },
  {
    name: 'tombstone dropped before its time',
    file: SELECTION,
    source: `record.timestamp < options.tombstonesBefore && record.ordinal`,
    replacement: `record.ordinal`,
    breaks: 'consumers have the whole retention of tombstones to see a deletion',
    caughtBy: test('compaction/rewrite', 'keeps tombstones for their time, and then lets them go'),
  },
  {
    name: 'tombstone dropped in front of older records',
    file: SELECTION,
    source: `options.tombstonesBefore && record.ordinal < options.completeUpTo;`,
    replacement: `options.tombstonesBefore;`,
    breaks: 'a deleted key does not come back',
    caughtBy: test('compaction/rewrite', 'keeps a tombstone whose older records lie in an object of no concern'),
  },
];
