/**
 * The process that is going to be killed: many actors append, publish, store offsets, flush and trim at once, and each
 * reports what it was told to be durable. Argument: a `Task` as JSON.
 */
import { loadChecksum } from '../../src/codec/checksum.ts';
import { SeededRandom } from '../../src/base/random.ts';
import { open, type Store, type WalOptions } from '../../src/index.ts';
import { report } from './reports.ts';
import { valueOf, valuesOf } from './values.ts';

export interface Task {
  readonly dir: string;
  readonly seed: number;
  readonly wal: WalOptions;
  readonly streams: readonly string[];
  /** By stream: the first publishing id that nobody was told to be durable. */
  readonly publishFrom: Readonly<Record<string, number>>;
}

export const PUBLISHER = 'publisher';

/** A group takes less than the smallest block, so that a kill may keep it whole or not at all. */
const GROUP_MAX = 12;
const BURST_MAX = 30;

class Actors {
  readonly #store: Store;
  readonly #task: Task;
  readonly #random: SeededRandom;
  #appends = 0;

  constructor(store: Store, task: Task) {
    this.#store = store;
    this.#task = task;
    this.#random = new SeededRandom(task.seed);
  }

  /** Never ends by itself. */
  async run(): Promise<never> {
    const { streams } = this.#task;
    const perStream = streams.flatMap((name) => [this.#publish(name), this.#storeOffsets(name)]);
    const others = Array.from({ length: 6 }, () => this.#append());
    await Promise.all([...perStream, ...others, this.#flush(), this.#trim(), this.#compact()]);
    throw new Error('an actor has ended');
  }

  #stream(): string {
    const { streams } = this.#task;
    return streams[this.#random.below(streams.length)] as string;
  }

  #name(): string {
    this.#appends += 1;
    return `${this.#task.seed}.${this.#appends}`;
  }

  async #append(): Promise<never> {
    for (;;) {
      const name = this.#stream();
      const stream = await this.#store.stream(name);
      const appends = Array.from({ length: 1 + this.#random.below(BURST_MAX) }, async () => {
        const append = this.#name();
        const count = this.#random.below(3) === 0 ? 1 + this.#random.below(GROUP_MAX) : 1;
        const [value = ''] = valuesOf(append, count);
        const offset = await (count === 1 ? stream.append(value) : stream.appendMany(valuesOf(append, count)));
        report({ type: 'appended', stream: name, append, count, offset });
      });
      await Promise.all(appends);
    }
  }

  /** Sends ids again that a former process may or may not have made durable. */
  async #publish(name: string): Promise<never> {
    const stream = await this.#store.stream(name);
    const publisher = stream.publisher(PUBLISHER);
    for (let publishingId = this.#task.publishFrom[name] ?? 0; ;) {
      const ids = Array.from({ length: 1 + this.#random.below(5) }, (_, index) => publishingId + index);
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

  async #storeOffsets(name: string): Promise<never> {
    const stream = await this.#store.stream(name);
    for (;;) {
      const { firstOffset, durableOffset } = await stream.info();
      if (durableOffset > firstOffset) {
        const reference = `consumer ${this.#random.below(3)}`;
        const offset = firstOffset + this.#random.below(durableOffset - firstOffset);
        report({ type: 'storing', stream: name, reference, offset });
        await stream.storeOffset(reference, offset, { durable: true });
        report({ type: 'stored', stream: name, reference, offset });
      }
      await this.#pause();
    }
  }

  async #flush(): Promise<never> {
    for (;;) {
      await this.#pause();
      await this.#store.flush();
    }
  }

  /** Merges whatever can be merged, however young. */
  async #compact(): Promise<never> {
    for (;;) {
      await this.#pause();
      await this.#store.compact({ force: true });
    }
  }

  async #trim(): Promise<never> {
    for (;;) {
      await this.#pause();
      const name = this.#stream();
      const stream = await this.#store.stream(name);
      const { firstOffset, durableOffset } = await stream.info();
      const before = firstOffset + this.#random.below(1 + Math.floor((durableOffset - firstOffset) / 2));
      report({ type: 'trimming', stream: name, before });
      await stream.trim(before);
      report({ type: 'trimmed', stream: name, before });
    }
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.#random.below(30)));
  }
}

/** Run as a program, and not when its types are imported. */
if (process.argv[1] === import.meta.filename) {
  await loadChecksum();
  const task = JSON.parse(process.argv[2] ?? '') as Task;
  const store = await open({ dir: task.dir, wal: task.wal, compaction: { deleteGrace: 50 } });
  report({ type: 'open' });
  await new Actors(store, task).run();
}
