import type { State } from '../../src/coordinator/state/state.ts';
import { COMPACTED_GENERATION } from '../../src/compaction/stream-class.ts';
import type { Sample } from './measures.ts';

/** Later generations are counted with the last. */
const GENERATIONS = 4;

export function sampleOf(state: State, day: number): Sample {
  const generations = Array.from({ length: GENERATIONS }, () => 0);
  for (const { generation } of state.byState.committed) {
    const merges = generation >= COMPACTED_GENERATION ? GENERATIONS - 1 : Math.min(generation, GENERATIONS - 1);
    generations[merges]! += 1;
  }
  const { committedBytes, liveBytes, deletingBytes } = state;
  const deleting = state.byState.deleting.size;
  return { day, generations, deleting, runs: state.runs.count, committedBytes, liveBytes, deletingBytes };
}
