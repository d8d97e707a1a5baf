/** Consumers and publishers of the open streams of a store without a WAL, and what the open filling claims of them. */
import type { Clock } from '../base/clock.ts';
import type { Timers } from '../base/timers.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { LocalClaims } from '../flush/scheduler.ts';
import type { WritableStreamState } from '../stream/frame-appender.ts';
import { SharedReferences } from '../stream/shared-references.ts';
import type { StoreTrackers } from './store-writer.ts';
import type { TimeSource, TrackingStats } from './trackers.ts';

interface OpenReferences {
  readonly name: string;
  readonly references: SharedReferences;
}

type Claims = Map<number, Map<string, { previousId: number | undefined; publishingId: number; offset: number }>>;

export class SharedTrackers implements StoreTrackers {
  readonly #coordinator: Coordinator;
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #maxInterval: number;
  readonly #open = new Map<number, OpenReferences>();
  /** Of the filling that is open, by stream and reference. */
  #claims: Claims = new Map();

  constructor(coordinator: Coordinator, { clock, timers }: TimeSource, maxInterval: number) {
    this.#coordinator = coordinator;
    this.#clock = clock;
    this.#timers = timers;
    this.#maxInterval = maxInterval;
  }

  open(name: string, { streamId }: WritableStreamState): Promise<SharedReferences> {
    const references = new SharedReferences(streamId, {
      coordinator: this.#coordinator,
      clock: this.#clock,
      maxInterval: this.#maxInterval,
      later: (milliseconds, callback) => this.#timers.after(milliseconds, callback),
      claim: (reference, previousId, publishingId, offset) => {
        this.#claim(streamId, reference, previousId, publishingId, offset);
      },
    });
    this.#open.set(streamId, { name, references });
    return Promise.resolve(references);
  }

  /** The claims of the filling that ends, in the order of its streams and publishers. */
  takeClaims(): LocalClaims {
    const claims = this.#claims;
    this.#claims = new Map();
    return new Map(
      [...claims].map(([streamId, publishers]) => {
        return [streamId, [...publishers].map(([reference, claim]) => ({ reference, ...claim }))];
      }),
    );
  }

  /** The coordinator lets go of consumers below a log start by itself. */
  async trimmed(): Promise<void> {}

  /** Writes everything that has gathered; resolves when it is durable. */
  async flush(): Promise<void> {
    const written = await Promise.allSettled([...this.#open.values()].map(({ references }) => references.flush()));
    for (const outcome of written) if (outcome.status === 'rejected') throw outcome.reason;
  }

  close(streamId: number): void {
    this.#open.get(streamId)?.references.discard();
    this.#open.delete(streamId);
  }

  discard(): void {
    for (const { references } of this.#open.values()) references.discard();
  }

  stats(): TrackingStats {
    const total = { references: 0, publishers: 0, deltas: 0, snapshots: 0, bytes: 0, interval: 0, share: 0 };
    const streams: Record<string, TrackingStats['streams'][string]> = {};
    for (const { name, references } of this.#open.values()) {
      const stats = references.stats();
      if (stats.references + stats.publishers + stats.deltas === 0) continue;
      streams[name] = { ...stats, snapshots: 0, bytes: 0, share: 0 };
      total.references += stats.references;
      total.publishers += stats.publishers;
      total.deltas += stats.deltas;
      total.interval = Math.max(total.interval, stats.interval);
    }
    return { ...total, streams };
  }

  /** Of several records in one filling, the first says what came before and the last what is claimed. */
  #claim(
    streamId: number,
    reference: string,
    previousId: number | undefined,
    publishingId: number,
    offset: number,
  ): void {
    let publishers = this.#claims.get(streamId);
    if (publishers === undefined) {
      publishers = new Map();
      this.#claims.set(streamId, publishers);
    }
    const known = publishers.get(reference);
    if (known === undefined) publishers.set(reference, { previousId, publishingId, offset });
    else Object.assign(known, { publishingId, offset });
  }
}
