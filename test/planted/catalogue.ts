/** All planted bugs, in the order of the table in docs/durability.md. */
import type { PlantedBug } from './bug.ts';
import { COMPACTION_BUGS } from './bugs/compaction.ts';
import { COORDINATOR_BUGS } from './bugs/coordinator.ts';
import { FLUSH_BUGS } from './bugs/flush.ts';
import { OBJECT_BUGS } from './bugs/objects.ts';
import { POSTGRES_BUGS } from './bugs/postgres.ts';
import { RING_BUGS } from './bugs/ring.ts';
import { SEGMENT_BUGS } from './bugs/segment.ts';
import { STORE_BUGS } from './bugs/store.ts';
import { WAL_BUGS } from './bugs/wal.ts';

export const PLANTED_BUGS: readonly PlantedBug[] = [
  ...WAL_BUGS,
  ...RING_BUGS,
  ...FLUSH_BUGS,
  ...SEGMENT_BUGS,
  ...COORDINATOR_BUGS,
  ...COMPACTION_BUGS,
  ...OBJECT_BUGS,
  ...STORE_BUGS,
  ...POSTGRES_BUGS,
];

/** `count` of the bugs: each seed takes those behind the last one's, and begins anew behind the last bug. */
export function turnOf(bugs: readonly PlantedBug[], count: number, seed: number): PlantedBug[] {
  const from = (seed * count) % bugs.length;
  return [...bugs.slice(from), ...bugs.slice(0, from)].slice(0, count);
}

/** The rows of the table in docs/durability.md. */
export function tableOf(bugs: readonly PlantedBug[]): string {
  return bugs
    .map(({ name, breaks, caughtBy: { file, only } }) => `| ${name} | ${breaks} | ${file}: ${only} |`)
    .join('\n');
}
