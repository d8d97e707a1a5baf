/**
 * Consumers and publishers of a stream without a WAL: the coordinator keeps them, for all processes that share it.
 * Stored offsets gather here, last write wins; publishers move with the commit of their records, which compares before
 * it sets.
 */
import type { Clock } from '../base/clock.ts';
import type { Coordinator, PublisherMark } from '../coordinator/coordinator.ts';
import { isMillraceError, MillraceError } from '../errors/millrace-error.ts';
import { TRACKING_MIN_INTERVAL } from './tracking-policy.ts';
import type { StreamReferences } from './stream-references.ts';

/** Refusals that nobody has asked for; the oldest is forgotten first. */
const REFUSALS_REMEMBERED = 1_000;

export interface SharedReferencesHost {
  readonly coordinator: Coordinator;
  readonly clock: Clock;
  /** Offsets are written this often at most; after a rest of that length, sooner. Milliseconds. */
  readonly maxInterval: number;
  /** Calls back after some milliseconds, unless cancelled. */
  readonly later: (milliseconds: number, callback: () => void) => () => void;
  /** A publisher's record entered the open filling. `previousId`: the id before it, as far as this process knows. */
  readonly claim: (reference: string, previousId: number | undefined, publishingId: number, offset: number) => void;
}

export interface SharedReferencesStats {
  references: number;
  publishers: number;
  deltas: number;
  interval: number;
}

export class SharedReferences implements StreamReferences {
  readonly #streamId: number;
  readonly #host: SharedReferencesHost;
  /** Stored and not with the coordinator yet; `undefined` means removed. */
  #pending = new Map<string, number | undefined>();
  #pendingSince = 0;
  #writing: Promise<void> = Promise.resolve();
  #writtenAt: number;
  #cancelTimer: (() => void) | undefined;
  /** Why offsets of the last refused write were refused: whoever stores under the same reference is told. */
  readonly #refusals = new Map<string, MillraceError>();
  /** How many wait for a write under a reference. */
  readonly #watched = new Map<string, number>();
  readonly #loading = new Map<string, Promise<void>>();
  readonly #publishers = new Map<string, PublisherMark>();
  #deltas = 0;
  #interval = 0;

  constructor(streamId: number, host: SharedReferencesHost) {
    this.#streamId = streamId;
    this.#host = host;
    this.#writtenAt = host.clock.monotonic() - host.maxInterval;
  }

  async offset(reference: string): Promise<number | undefined> {
    return (await this.offsets()).get(reference);
  }

  async offsets(): Promise<Map<string, number>> {
    // What is under way is with the coordinator or among the pending ones by then.
    await this.#writing.catch(() => undefined);
    const offsets = await this.#host.coordinator.trackedOffsets(this.#streamId);
    for (const [reference, offset] of this.#pending) {
      if (offset === undefined) offsets.delete(reference);
      else offsets.set(reference, offset);
    }
    return offsets;
  }

  async store(reference: string, offset: number | undefined, durable: boolean): Promise<void> {
    this.#tell(reference);
    if (this.#pending.size === 0) this.#pendingSince = this.#host.clock.monotonic();
    this.#pending.set(reference, offset);
    if (!durable) {
      this.#arm();
      return;
    }
    const leave = this.#watch(reference);
    try {
      await this.#writeNow();
      const refusal = this.#refusals.get(reference);
      if (refusal !== undefined) throw refusal;
    } finally {
      leave();
    }
  }

  /** Writes what has gathered; resolves when it is durable. A stream that was deleted meanwhile has nothing to keep. */
  async flush(): Promise<void> {
    await this.#writeNow();
    const refusals = [...this.#refusals.values()];
    for (const reference of this.#refusals.keys()) {
      if (!this.#watched.has(reference)) this.#refusals.delete(reference);
    }
    for (const refusal of refusals) {
      if (refusal.code !== 'ERR_MILLRACE_STREAM_NOT_FOUND') throw refusal;
    }
  }

  /** Rejects when the coordinator could not be reached; refusals are noted by reference. */
  #writeNow(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#writing = this.#writing.catch(() => undefined).then(() => this.#write());
    return this.#writing;
  }

  /**
   * Keeps the refusal of a write under `reference` until all who wait for one have seen it: whoever comes first must
   * not take it away from another, who would believe his offset stored.
   */
  #watch(reference: string): () => void {
    this.#watched.set(reference, (this.#watched.get(reference) ?? 0) + 1);
    return () => {
      const left = (this.#watched.get(reference) ?? 0) - 1;
      if (left > 0) {
        this.#watched.set(reference, left);
        return;
      }
      this.#watched.delete(reference);
      this.#refusals.delete(reference);
    };
  }

  #remember(reference: string, refusal: MillraceError): void {
    this.#refusals.set(reference, refusal);
    if (this.#refusals.size <= REFUSALS_REMEMBERED) return;
    const oldest = [...this.#refusals.keys()].find((known) => !this.#watched.has(known));
    if (oldest !== undefined) this.#refusals.delete(oldest);
  }

  #tell(reference: string): void {
    const refusal = this.#refusals.get(reference);
    if (!this.#watched.has(reference)) this.#refusals.delete(reference);
    if (refusal !== undefined) throw refusal;
  }

  cut(): void {
    // Streams without a WAL are never truncated.
  }

  ready(reference: string): Promise<void> {
    let loading = this.#loading.get(reference);
    if (loading === undefined) {
      loading = this.#load(reference);
      this.#loading.set(reference, loading);
      loading.catch(() => {
        this.#loading.delete(reference);
      });
    }
    return loading;
  }

  publisher(reference: string): PublisherMark | undefined {
    return this.#publishers.get(reference);
  }

  published(reference: string, publishingId: number, offset: number): void {
    this.#host.claim(reference, this.#publishers.get(reference)?.publishingId, publishingId, offset);
    this.#publishers.set(reference, { publishingId, offset: NaN });
  }

  forget(reference: string): void {
    this.#loading.delete(reference);
    this.#publishers.delete(reference);
  }

  /** Forgets what has not been written; whoever waits for it is told. */
  discard(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    for (const reference of this.#pending.keys()) {
      if (this.#watched.has(reference)) this.#remember(reference, notWritten(reference));
    }
    this.#pending.clear();
  }

  stats(): SharedReferencesStats {
    const { size: publishers } = this.#publishers;
    return { references: this.#pending.size, publishers, deltas: this.#deltas, interval: this.#interval };
  }

  async #load(reference: string): Promise<void> {
    const mark = await this.#host.coordinator.publisherMark(this.#streamId, reference);
    if (mark === undefined) this.#publishers.delete(reference);
    else this.#publishers.set(reference, mark);
  }

  async #write(): Promise<void> {
    const taken = this.#pending;
    if (taken.size === 0) return;
    this.#pending = new Map();
    const { clock } = this.#host;
    this.#interval = clock.monotonic() - this.#pendingSince;
    try {
      await this.#store(taken);
      this.#deltas += 1;
    } finally {
      this.#writtenAt = clock.monotonic();
    }
  }

  /** One consumer too many: the others are stored all the same, one by one. */
  async #store(taken: ReadonlyMap<string, number | undefined>): Promise<void> {
    try {
      await this.#host.coordinator.storeOffsets(this.#streamId, taken);
    } catch (error) {
      if (!isMillraceError(error)) throw error;
      if (error.code === 'ERR_MILLRACE_UNAVAILABLE') {
        this.#restore(taken);
        throw error;
      }
      const [reference] = taken.keys();
      if (taken.size === 1 && reference !== undefined) this.#remember(reference, error);
      else await this.#storeEach(taken);
    }
  }

  async #storeEach(taken: ReadonlyMap<string, number | undefined>): Promise<void> {
    const errors: unknown[] = [];
    for (const entry of taken) {
      await this.#store(new Map([entry])).catch((error: unknown) => {
        errors.push(error);
      });
    }
    if (errors.length > 0) throw errors[0];
  }

  /** What was stored meanwhile is newer. */
  #restore(taken: ReadonlyMap<string, number | undefined>): void {
    this.#pending = new Map([...taken, ...this.#pending]);
    this.#arm();
  }

  #arm(): void {
    if (this.#cancelTimer !== undefined) return;
    const rested = this.#host.clock.monotonic() - this.#writtenAt;
    const wait = Math.max(Math.min(TRACKING_MIN_INTERVAL, this.#host.maxInterval), this.#host.maxInterval - rested);
    this.#cancelTimer = this.#host.later(wait, () => {
      this.#cancelTimer = undefined;
      // What did not arrive is tried again; refusals wait for whoever stores next.
      this.#writeNow().catch(() => undefined);
    });
  }
}

function notWritten(reference: string): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_CLOSED',
    `the offset of ${reference} was not written: the store stopped, or the stream was deleted`,
    { details: { reference } },
  );
}
