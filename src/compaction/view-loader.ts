/**
 * Fills the planners' view from the coordinator. An object's runs are asked for once, and again only when some of them
 * have died: a poll of a quiet store costs one listing.
 */
import type { Coordinator, FoundRun, ObjectDescription } from '../coordinator/coordinator.ts';
import type { StreamConfig } from '../record/stream-config.ts';
import type { CompactionSettings } from './settings.ts';
import { classOf } from './stream-class.ts';
import { neededTracking, runName } from './tracking-runs.ts';
import { cleanBytesOf, type CompactionView, type KeyedPart, type ObjectFacts } from './view.ts';

/** What an object's runs say, as long as none of them dies and no config changes. */
type RunFacts = Pick<ObjectFacts, 'cleanBytes' | 'className' | 'keyedParts' | 'streamIds'>;

interface Known {
  readonly liveRuns: number;
  readonly facts: RunFacts;
}

export class ViewLoader {
  readonly #coordinator: Coordinator;
  readonly #settings: CompactionSettings;
  #known: Map<string, Known> = new Map();
  #configs: Map<number, StreamConfig> = new Map();

  constructor(coordinator: Coordinator, settings: CompactionSettings) {
    this.#coordinator = coordinator;
    this.#settings = settings;
  }

  async load(force = false): Promise<CompactionView> {
    const { now } = await this.#coordinator.stats();
    const objects = await this.#coordinator.listObjects({ state: 'committed' });
    await this.#loadConfigs();
    const known = new Map<string, Known>();
    const loaded: ObjectFacts[] = [];
    const needed = new Map<number, ReadonlySet<string>>();
    for (const object of objects) {
      const { liveRuns, facts } = await this.#factsOf(object);
      known.set(object.key, { liveRuns, facts });
      loaded.push(withFacts(object, facts, await this.#supersededBytes(object, needed, force)));
    }
    this.#known = known;
    loaded.sort((left, right) => left.committedAt - right.committedAt);
    return { now, objects: loaded };
  }

  /** Forgets what depends on a config that has changed. New streams change nothing. */
  async #loadConfigs(): Promise<void> {
    const configs = new Map<number, StreamConfig>();
    for (const { streamId, config } of await this.#coordinator.streams()) {
      configs.set(streamId, config);
      const before = this.#configs.get(streamId);
      if (before !== undefined && JSON.stringify(before) !== JSON.stringify(config)) this.#known.clear();
    }
    this.#configs = configs;
  }

  async #factsOf(object: ObjectDescription): Promise<Known> {
    const known = this.#known.get(object.key);
    if (known?.liveRuns === object.liveRuns) return known;
    const runs = await this.#coordinator.objectRuns(object.key);
    return { liveRuns: object.liveRuns, facts: runFacts(runs, this.#configs, this.#settings.expiryBucket) };
  }

  /** Asked for only where it can be worth a job: all tracking of an object is at least what is superseded of it. */
  async #supersededBytes(
    object: ObjectDescription,
    needed: Map<number, ReadonlySet<string>>,
    force: boolean,
  ): Promise<number> {
    const { liveTrackingBytes, liveBytes } = object;
    if (liveTrackingBytes === 0) return 0;
    if (!force && liveTrackingBytes < liveBytes * this.#settings.trackingRatio) return 0;
    let superseded = 0;
    for (const run of await this.#coordinator.objectRuns(object.key)) {
      if (run.trackingBytes === 0 || !this.#configs.has(run.streamId)) continue;
      let names = needed.get(run.streamId);
      if (names === undefined) {
        names = new Set((await neededTracking(this.#coordinator, run.streamId)).map(runName));
        needed.set(run.streamId, names);
      }
      if (!names.has(runName(run))) superseded += run.trackingBytes;
    }
    return superseded;
  }
}

function withFacts(object: ObjectDescription, facts: RunFacts, supersededBytes: number): ObjectFacts {
  const { key, bytes, generation, committedAt, rewriteBy, liveRuns, liveBytes } = object;
  const claimed = object.jobId !== undefined;
  return { key, bytes, generation, committedAt, claimed, rewriteBy, liveRuns, liveBytes, supersededBytes, ...facts };
}

/** Sums runs up by class and, for keyed streams, by stream. */
export function runFacts(
  runs: readonly FoundRun[],
  configs: ReadonlyMap<number, StreamConfig>,
  expiryBucket: number,
): RunFacts {
  const classes = new Map<string, number>();
  const keyed = new Map<number, KeyedPart>();
  const streamIds = new Set<number>();
  let runBytes = 0;
  let chunks = 0;
  for (const run of runs) {
    runBytes += run.byteLength;
    chunks += run.chunks;
    streamIds.add(run.streamId);
    const config = configs.get(run.streamId);
    if (config === undefined) continue;
    const className = classOf(config, run.lastTimestamp, expiryBucket);
    classes.set(className, (classes.get(className) ?? 0) + run.byteLength);
    if (config.cleanup === 'compact') keyed.set(run.streamId, joined(keyed.get(run.streamId), run));
  }
  const [largest] = [...classes].sort(([, left], [, right]) => right - left);
  return {
    cleanBytes: cleanBytesOf(runBytes, runs.length, chunks),
    className: largest?.[0] ?? '',
    keyedParts: [...keyed.values()],
    streamIds: Uint32Array.from(streamIds),
  };
}

function joined(part: KeyedPart | undefined, run: FoundRun): KeyedPart {
  const { streamId, firstOffset, endOffset, byteLength, records } = run;
  if (part === undefined) return { streamId, firstOffset, endOffset, bytes: byteLength, records };
  return {
    streamId,
    firstOffset: Math.min(part.firstOffset, firstOffset),
    endOffset: Math.max(part.endOffset, endOffset),
    bytes: part.bytes + byteLength,
    records: part.records + records,
  };
}
