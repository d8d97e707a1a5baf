/** How the objects of a store lie: what the dashboard shows of generations. */
import { COMPACTED_GENERATION } from '../compaction/stream-class.ts';
import type { Store } from '../store/store.ts';

/** Milliseconds for which the look at all objects is good: there may be many, and several pages may be open. */
const LAYOUT_AGE_MAX = 2_000;

interface Generation {
  readonly generation: number;
  /** Outputs of key compaction: they are apart from the others. */
  readonly isCompacted: boolean;
  objects: number;
  bytes: number;
  liveBytes: number;
}

/** Objects by generation, looked at as often as it is worth. */
export class Layout {
  readonly #store: Pick<Store, 'objects'>;
  readonly #now: () => number;
  #takenAt = -Infinity;
  #generations: Promise<readonly Generation[]> = Promise.resolve([]);

  constructor(store: Pick<Store, 'objects'>, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  generations(): Promise<readonly Generation[]> {
    if (this.#now() - this.#takenAt > LAYOUT_AGE_MAX) {
      this.#takenAt = this.#now();
      this.#generations = this.#look();
    }
    return this.#generations;
  }

  async #look(): Promise<readonly Generation[]> {
    const generations = new Map<number, Generation>();
    for (const { generation, bytes, liveBytes } of await this.#store.objects()) {
      const known = generations.get(generation) ?? newGeneration(generation);
      known.objects += 1;
      known.bytes += bytes;
      known.liveBytes += liveBytes;
      generations.set(generation, known);
    }
    return [...generations.values()].sort((left, right) => left.generation - right.generation);
  }
}

function newGeneration(generation: number): Generation {
  return { generation, isCompacted: generation >= COMPACTED_GENERATION, objects: 0, bytes: 0, liveBytes: 0 };
}
