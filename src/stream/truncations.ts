/**
 * The truncations of each stream since the store was opened, and those that the WAL held then. Readers ask whether one
 * cut what they have delivered, and which of what they were told of segments is void. None is forgotten when it is
 * flushed: an answer that was given before the flush says nothing of it, however late it is looked at.
 */
import type { StoredEnd } from './stream-info.ts';

/** A truncation that no later one reaches below: `index` counts all of the stream. */
interface Cut {
  readonly index: number;
  /** Of the records from then on. */
  readonly epoch: number;
  readonly nextOffset: number;
}

interface StreamCuts {
  count: number;
  /** Ascending in all fields: a deeper cut hides the shallower ones before it. */
  readonly lowest: Cut[];
}

export class Truncations {
  readonly #streams = new Map<number, StreamCuts>();

  add(streamId: number, { nextOffset, epoch }: StoredEnd): void {
    const cuts = this.#streams.get(streamId) ?? { count: 0, lowest: [] };
    this.#streams.set(streamId, cuts);
    while (cuts.lowest.length > 0 && (cuts.lowest.at(-1) as Cut).nextOffset >= nextOffset) cuts.lowest.pop();
    cuts.lowest.push({ index: cuts.count, epoch, nextOffset });
    cuts.count += 1;
  }

  /** How many there were, and the lowest offset that those after the first `since` went on at. */
  since(streamId: number, since: number): { count: number; lowest: number } {
    const cuts = this.#streams.get(streamId);
    if (cuts === undefined) return { count: 0, lowest: Infinity };
    return { count: cuts.count, lowest: lowestFrom(cuts.lowest, 'index', since) };
  }

  /** Offsets from there on are void in an answer that knows the truncations up to `storedEpoch`. */
  voidFrom(streamId: number, storedEpoch: number): number {
    return lowestFrom(this.#streams.get(streamId)?.lowest ?? [], 'epoch', storedEpoch + 1);
  }

  /** Forgets a deleted stream. */
  drop(streamId: number): void {
    this.#streams.delete(streamId);
  }
}

/** Where the first cut whose `field` is at least `since` lets the stream go on; `Infinity` when none is. */
function lowestFrom(cuts: readonly Cut[], field: 'index' | 'epoch', since: number): number {
  let low = 0;
  let high = cuts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((cuts[middle] as Cut)[field] >= since) high = middle;
    else low = middle + 1;
  }
  return cuts[low]?.nextOffset ?? Infinity;
}
