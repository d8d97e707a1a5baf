/** Facts about objects for tests of the planners. */
import type { CompactionView, ObjectFacts } from '../../src/compaction/view.ts';
import { MIB } from '../../src/limits/limits.ts';
import { START } from './world.ts';

let number = 0;

/** A whole object of appends, committed `age` ago. */
export function object(age: number, facts: Partial<ObjectFacts> = {}): ObjectFacts {
  number += 1;
  const bytes = facts.bytes ?? 8 * MIB;
  return {
    key: `object ${String(number).padStart(8, '0')}`,
    bytes,
    generation: 0,
    committedAt: START - age,
    claimed: false,
    rewriteBy: undefined,
    liveRuns: 10,
    liveBytes: bytes,
    cleanBytes: bytes,
    className: 'infinite',
    supersededBytes: 0,
    keyedParts: [],
    streamIds: Uint32Array.of(1),
    ...facts,
  };
}

export function viewOf(objects: readonly ObjectFacts[], now: number = START): CompactionView {
  return { now, objects: [...objects].sort((left, right) => left.committedAt - right.committedAt) };
}
