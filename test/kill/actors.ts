/** Actors that share streams: many append, publish, store offsets, flush, trim and merge at once. */
import type { SeededRandom } from '../../src/base/random.ts';
import assert from 'node:assert/strict';
import type { Store, Stream } from '../../src/index.ts';
import { isMillraceError } from '../../src/index.ts';
import { report } from './reports.ts';
import { markOf, valueOf, valuesOf } from './values.ts';
import { type ActorName, sharedNames, streamOptions, type Workload } from './workloads.ts';

export const PUBLISHER = 'publisher';

/** A group takes less than the smallest block, so that a kill may keep it whole or not at all. */
export const GROUP_MAX = 12;
const BURST_MAX = 30;

export interface Cast {
  readonly store: Store;
  readonly workload: Workload;
  readonly random: SeededRandom;
  /** By stream: the first publishing id that nobody was told to be durable. */
  readonly publishFrom: Readonly<Record<string, number>>;
  /** A name for an append that no other has, in no process. */
  readonly nextName: () => string;
  /** Actors go on until it fires; it may never. */
  readonly signal: AbortSignal;
}

export class Actors {
  readonly #cast: Cast;
  readonly #streams: readonly string[];

  constructor(cast: Cast) {
    this.#cast = cast;
    this.#streams = sharedNames(cast.workload);
  }

  /** The loops of an actor, which end only when one of them fails or the signal fires. */
  start(name: ActorName): Promise<void>[] {
    switch (name) {
      case 'append':
        return [this.#append(() => 1)];
      case 'group':
        return [this.#append(() => 1 + this.#cast.random.below(GROUP_MAX))];
      case 'publish':
        return this.#streams.map((stream) => this.#publish(stream));
      case 'store-offsets':
        return this.#streams.map((stream) => this.#storeOffsets(stream));
      case 'flush':
        return [this.#repeat(() => this.#cast.store.flush())];
      case 'trim':
        return [this.#repeat(() => this.#trim())];
      case 'compact':
        // Merges whatever can be merged, however young.
        return [this.#repeat(() => this.#cast.store.compact({ force: true }))];
      case 'follow':
        return this.#streams.map((stream) => this.#follow(stream));
    }
  }

  async #repeat(work: () => Promise<unknown>): Promise<void> {
    while (!this.#cast.signal.aborted) {
      await pause(this.#cast.random);
      await work();
    }
  }

  #name(): string {
    return this.#streams[this.#cast.random.below(this.#streams.length)] as string;
  }

  #stream(name: string): Promise<Stream> {
    return this.#cast.store.stream(name, streamOptions(this.#cast.workload));
  }

  async #rest(): Promise<void> {
    const { random, workload } = this.#cast;
    if (workload.rest !== undefined) await pause(random, workload.rest);
  }

  async #append(countOf: () => number): Promise<void> {
    const { random, nextName, signal } = this.#cast;
    while (!signal.aborted) {
      await this.#rest();
      const name = this.#name();
      const stream = await this.#stream(name);
      const appends = Array.from({ length: 1 + random.below(BURST_MAX) }, async () => {
        const append = nextName();
        const count = countOf();
        const [value = ''] = valuesOf(append, count);
        const offset = await (count === 1 ? stream.append(value) : stream.appendMany(valuesOf(append, count)));
        report({ type: 'appended', stream: name, append, count, offset });
      });
      await Promise.all(appends);
    }
  }

  /** Sends ids again that a former process may or may not have made durable. */
  async #publish(name: string): Promise<void> {
    const { random, publishFrom, signal } = this.#cast;
    const stream = await this.#stream(name);
    const publisher = stream.publisher(PUBLISHER);
    for (let publishingId = publishFrom[name] ?? 0; !signal.aborted;) {
      await this.#rest();
      const ids = Array.from({ length: 1 + random.below(5) }, (_, index) => publishingId + index);
      publishingId += ids.length;
      await Promise.all(
        ids.map(async (id) => {
          const value = valueOf({ append: `${name}/${id}`, index: 0, count: 1, publishingId: id });
          const { offset } = await publisher.append(id, value);
          report({ type: 'published', stream: name, publishingId: id, ...(offset === undefined ? {} : { offset }) });
        }),
      );
    }
  }

  async #storeOffsets(name: string): Promise<void> {
    const { random } = this.#cast;
    const stream = await this.#stream(name);
    await this.#repeat(async () => {
      const { firstOffset, durableOffset } = await stream.info();
      if (durableOffset <= firstOffset) return;
      const reference = `consumer ${random.below(3)}`;
      const offset = firstOffset + random.below(durableOffset - firstOffset);
      report({ type: 'storing', stream: name, reference, offset });
      await stream.storeOffset(reference, offset, { durable: true });
      report({ type: 'stored', stream: name, reference, offset });
    });
  }

  async #trim(): Promise<void> {
    const name = this.#name();
    const stream = await this.#stream(name);
    const { firstOffset, durableOffset } = await stream.info();
    const before = firstOffset + this.#cast.random.below(1 + Math.floor((durableOffset - firstOffset) / 2));
    report({ type: 'trimming', stream: name, before });
    await stream.trim(before);
    report({ type: 'trimmed', stream: name, before });
  }

  /** Records come whole and in order, from wherever the stream ends now. */
  async #follow(name: string): Promise<void> {
    const { signal } = this.#cast;
    const stream = await this.#stream(name);
    let next = 0;
    try {
      for await (const { offset, value } of stream.read({ from: 'next', follow: true, signal, onTrimmed: 'skip' })) {
        markOf(value?.toString() ?? '');
        assert.ok(offset >= next, `${name}: ${offset} after ${next - 1}`);
        next = offset + 1;
      }
    } catch (error) {
      if (!isMillraceError(error, 'ERR_MILLRACE_ABORTED')) throw error;
    }
  }
}

/** Up to so many milliseconds. */
export function pause(random: SeededRandom, most = 30): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, random.below(most)));
}
