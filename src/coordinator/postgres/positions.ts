/** Where new runs stand in a stream's list: in the places of those they replace, or behind everything. */
import { assert } from '../../base/assert.ts';

export interface Placement {
  /** Ascending, one for each key. */
  readonly positions: readonly number[];
  /** The next position behind everything. */
  readonly next: number;
}

/**
 * `keys` are the runs of the list in order. Those in `known` keep their positions; those that are new get, in order,
 * the lowest positions that became free between their neighbours, and behind the last neighbour ones from `next` on. A
 * job never has more output runs than parents, so that there is always room.
 */
export function placeRuns(keys: readonly string[], known: ReadonlyMap<string, number>, next: number): Placement {
  const kept = new Set(keys);
  const free: number[] = [];
  for (const [key, position] of known) if (!kept.has(key)) free.push(position);
  free.sort((left, right) => left - right);
  const limits = limitsOf(keys, known);
  const positions: number[] = [];
  let last = -1;
  let index = 0;
  for (const [at, key] of keys.entries()) {
    const own = known.get(key);
    const limit = limits[at] ?? Infinity;
    while ((free[index] ?? Infinity) <= last) index += 1;
    const candidate = free[index] ?? Infinity;
    let position = own ?? candidate;
    if (own === undefined && candidate >= limit) {
      assert(limit === Infinity, 'a run that is put between others replaces one');
      position = next;
      next += 1;
    }
    assert(position > last, 'positions ascend');
    positions.push(position);
    last = position;
  }
  return { positions, next };
}

/** For each place, the position of the next run that keeps its own. */
function limitsOf(keys: readonly string[], known: ReadonlyMap<string, number>): number[] {
  const limits: number[] = [];
  let limit = Infinity;
  for (let at = keys.length - 1; at >= 0; at -= 1) {
    limits[at] = limit;
    limit = known.get(keys[at] as string) ?? limit;
  }
  return limits;
}
