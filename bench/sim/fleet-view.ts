/** The planners' view of a state in memory: as production loads it, without a round trip for each object. */
import type { CompactionSettings } from '../../src/compaction/settings.ts';
import type { CompactionView, ObjectFacts } from '../../src/compaction/view.ts';
import { runFacts } from '../../src/compaction/view-loader.ts';
import { runsOfObject } from '../../src/coordinator/queries/object-queries.ts';
import type { ObjectRow } from '../../src/coordinator/state/rows.ts';
import { keyOf, type State } from '../../src/coordinator/state/state.ts';
import type { StreamConfig } from '../../src/record/stream-config.ts';

export class FleetView {
  readonly #state: State;
  readonly #settings: CompactionSettings;
  readonly #configs: ReadonlyMap<number, StreamConfig>;
  #known: Map<number, ObjectFacts> = new Map();

  constructor(state: State, settings: CompactionSettings, configs: ReadonlyMap<number, StreamConfig>) {
    this.#state = state;
    this.#settings = settings;
    this.#configs = configs;
  }

  load(): CompactionView {
    const known = new Map<number, ObjectFacts>();
    // Objects enter the set at their commit, so that it is in the order that planners want.
    for (const object of this.#state.byState.committed) known.set(object.number, this.#factsOf(object));
    this.#known = known;
    return { now: this.#state.now, objects: [...known.values()] };
  }

  #factsOf(object: ObjectRow): ObjectFacts {
    const { bytes, generation, committedAt, rewriteBy, liveRuns, liveBytes, jobId } = object;
    const before = this.#known.get(object.number);
    const claimed = jobId !== undefined;
    if (before?.liveRuns === liveRuns) {
      if (before.claimed === claimed && before.rewriteBy === rewriteBy) return before;
      return { ...before, claimed, rewriteBy };
    }
    const facts = runFacts(runsOfObject(this.#state, object), this.#configs, this.#settings.expiryBucket);
    const key = keyOf(object);
    const supersededBytes = 0;
    return {
      key,
      bytes,
      generation,
      committedAt,
      claimed,
      rewriteBy,
      liveRuns,
      liveBytes,
      supersededBytes,
      ...facts,
    };
  }
}
