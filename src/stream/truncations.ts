/** The truncations of each stream since the store was opened: readers ask whether one cut what they have delivered. */

/** A truncation that no later one reaches below: `index` counts all of the stream. */
interface Cut {
  readonly index: number;
  readonly nextOffset: number;
}

interface StreamCuts {
  count: number;
  /** Ascending in both fields: a deeper cut hides the shallower ones before it. */
  readonly lowest: Cut[];
}

export class Truncations {
  readonly #streams = new Map<number, StreamCuts>();

  add(streamId: number, nextOffset: number): void {
    const cuts = this.#streams.get(streamId) ?? { count: 0, lowest: [] };
    this.#streams.set(streamId, cuts);
    while (cuts.lowest.length > 0 && (cuts.lowest.at(-1) as Cut).nextOffset >= nextOffset) cuts.lowest.pop();
    cuts.lowest.push({ index: cuts.count, nextOffset });
    cuts.count += 1;
  }

  /** How many there were, and the lowest offset that those after the first `since` went on at. */
  since(streamId: number, since: number): { count: number; lowest: number } {
    const cuts = this.#streams.get(streamId);
    if (cuts === undefined) return { count: 0, lowest: Infinity };
    return { count: cuts.count, lowest: cuts.lowest[firstFrom(cuts.lowest, since)]?.nextOffset ?? Infinity };
  }
}

/** Position of the first cut whose `index` is at least `since`; their count when none is. */
function firstFrom(cuts: readonly Cut[], since: number): number {
  let low = 0;
  let high = cuts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((cuts[middle] as Cut).index >= since) high = middle;
    else low = middle + 1;
  }
  return low;
}
