/** Carries out the steps of a workload on a store without threads, and tells the oracle of each. */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SeededRandom } from '../../src/base/random.ts';
import { isMillraceError, type OpenOptions, type Store, type Stream, type StreamOptions } from '../../src/index.ts';
import { openIn } from '../../src/store/open.ts';
import { configOf } from '../../src/stream/stream-options.ts';
import { type RingSupply, SimulatedEnvironment } from '../../src/testing/simulated-environment.ts';
import type { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import type { SimulatedTime } from '../../src/testing/simulated-time.ts';
import { CONSUMERS, contentOf, PUBLISHER } from './check.ts';
import { Deed, type ModelRecord, type Oracle, type StreamHistory } from './oracle.ts';
import { KEYED, type Mode, type Step } from './steps.ts';

export const DIRECTORY = '/store';
const SLOT_BYTES = 64 * 1024;
/** Turns of the event loop without a result, after which only time can bring it. */
const TURNS_MAX = 12;
/** Timers that may have to fire before anything ends. */
const TIMERS_MAX = 2_000;
/** Answers that say that nothing was done. */
const REFUSALS = ['ERR_MILLRACE_OFFSET_OUT_OF_RANGE', 'ERR_MILLRACE_STREAM_NOT_FOUND'] as const;

export function optionsFor(mode: Mode, slots: number): OpenOptions {
  const common = { dir: DIRECTORY, compaction: false } as const;
  if (mode === 'local') return { ...common, wal: { slots, slotBytes: SLOT_BYTES } };
  return { ...common, wal: false, diskless: { slots, slotBytes: SLOT_BYTES } };
}

export interface WorkerOptions {
  readonly disk: SimulatedDisk;
  readonly time: SimulatedTime;
  readonly mode: Mode;
  readonly seed: number;
  readonly rings: RingSupply;
  /** Slots to open with. Default 2. */
  readonly slots?: number;
}

/** Waits for what happens in turns of the event loop, and lets time pass where nothing else helps. */
export async function settle<T>(time: SimulatedTime, promise: Promise<T>): Promise<T> {
  let settled = false;
  const note = (): void => {
    settled = true;
  };
  promise.then(note, note);
  for (let timers = 0; timers < TIMERS_MAX; timers += 1) {
    for (let turn = 0; turn < TURNS_MAX; turn += 1) {
      if (settled) return promise;
      await nextTurn();
    }
    if (!settled && !time.next()) await nextTurn();
  }
  throw new Error('hangs: nothing that can happen ends it');
}

export class Worker {
  readonly environment: SimulatedEnvironment;
  oracle: Oracle;
  readonly #options: WorkerOptions;
  readonly #random: SeededRandom;
  #slots: number;
  #store: Store | undefined;
  #pending: Promise<unknown>[] = [];
  /** What has failed: the first error that is no refusal. */
  failure: Error | undefined;
  #values = 0;

  constructor(options: WorkerOptions, oracle: Oracle) {
    this.oracle = oracle;
    this.#options = options;
    const { disk, time, seed, rings } = options;
    this.#random = new SeededRandom(seed);
    this.#slots = options.slots ?? 2;
    this.environment = new SimulatedEnvironment({ fileSystem: disk, time, seed: this.#random.uint32(), rings });
  }

  /** The store while it is open. */
  get store(): Store | undefined {
    return this.#store;
  }

  get slots(): number {
    return this.#slots;
  }

  async open(): Promise<Store> {
    const { mode, time } = this.#options;
    this.#store = await settle(time, openIn(this.environment, optionsFor(mode, this.#slots)));
    return this.#store;
  }

  /** Steps of other kinds than crashes. */
  async step(step: Exclude<Step, { do: 'crash' }>): Promise<void> {
    if (!('stream' in step)) {
      await this.#stepOfStore(step);
      return;
    }
    if (step.do === 'delete' || step.do === 'truncate') await this.quiesce();
    const { oracle } = this;
    if (step.do === 'delete' && oracle.current(step.stream) === undefined) return;
    const { stream, history } = await this.#streamOf(step.stream);
    const done = this.#stepOfStream(step, stream, history);
    const noted = done.catch((error: unknown) => {
      if (!isRefusal(error)) this.failure ??= error instanceof Error ? error : new Error(String(error));
    });
    if (step.wait || step.do === 'delete' || step.do === 'truncate') await this.#settle(noted);
    else this.#pending.push(noted);
  }

  /** Everything that was asked for has ended. */
  async quiesce(): Promise<void> {
    const pending = this.#pending;
    this.#pending = [];
    await this.#settle(Promise.all(pending));
  }

  async close(): Promise<void> {
    await this.quiesce();
    const store = this.#running();
    this.#store = undefined;
    await this.#settle(store.close());
  }

  #settle<T>(promise: Promise<T>): Promise<T> {
    return settle(this.#options.time, promise);
  }

  #running(): Store {
    assert.ok(this.#store !== undefined, 'the store is open');
    return this.#store;
  }

  async #stepOfStore(step: Exclude<Step, { do: 'crash' } | { stream: string }>): Promise<void> {
    const { time } = this.#options;
    const store = this.#running();
    if (step.do === 'pass') {
      time.advance(step.milliseconds);
      await nextTurn();
    } else if (step.do === 'reopen') {
      await this.close();
      this.#slots = step.slots;
      await this.open();
    } else if (step.do === 'openSecond') {
      const second = openIn(this.environment, optionsFor(this.#options.mode, this.#slots));
      await assert.rejects(this.#settle(second), { code: 'ERR_MILLRACE_LOCKED' });
    } else if (step.do === 'readBeside') {
      await this.#readBeside();
    } else {
      const work = step.do === 'flush' ? store.flush() : store.compact({ force: true });
      const noted = work.catch((error: unknown) => {
        this.failure ??= error instanceof Error ? error : new Error(String(error));
      });
      if (step.wait) await this.#settle(noted);
      else this.#pending.push(noted);
    }
  }

  /** A reader of another process sees records at their offsets, each as it was appended, some of them or all. */
  async #readBeside(): Promise<void> {
    const { oracle } = this;
    const { mode } = this.#options;
    const options = { dir: DIRECTORY, readOnly: true, ...(mode === 'diskless' ? { wal: false as const } : {}) };
    const reader = await this.#settle(openIn(this.environment, options));
    for (const { name } of await reader.streams()) {
      const history = oracle.streams.findLast((stream) => stream.name === name);
      assert.ok(history !== undefined, `a reader sees ${name}, which nobody made`);
      const stream = await this.#settle(reader.stream(name));
      const versions = history.versions();
      for (const [offset, { value }] of await this.#settle(contentOf(stream))) {
        const known = versions.some((records) => records[offset]?.value === value);
        assert.ok(known, `a reader sees ${value?.slice(0, 20)} at ${offset} of ${name}, which nobody appended there`);
      }
    }
    await reader.close();
  }

  async #streamOf(name: string): Promise<{ stream: Stream; history: StreamHistory }> {
    const { oracle } = this;
    const store = this.#running();
    const known = oracle.current(name);
    if (known !== undefined && known.created.ackedAt < Infinity) {
      return { stream: await this.#settle(store.stream(name)), history: known };
    }
    const options: StreamOptions = name === KEYED ? { cleanup: 'compact' } : {};
    const history = known ?? oracle.create(name, configOf(options));
    const made = oracle.perform(history.created, () => store.stream(name, options), isRefusal);
    return { stream: await this.#settle(made), history };
  }

  async #stepOfStream(
    step: Extract<Step, { stream: string }>,
    stream: Stream,
    history: StreamHistory,
  ): Promise<unknown> {
    const { oracle } = this;
    const perform = <T>(deed: Deed<unknown>, work: () => Promise<T>): Promise<T> =>
      oracle.perform(deed, work, isRefusal);
    switch (step.do) {
      case 'append':
        return Promise.all(step.sizes.map((size) => this.#append(stream, history, [size])));
      case 'appendMany':
        return this.#append(stream, history, step.sizes);
      case 'publish':
        return this.#publish(stream, history, step.count, step.again);
      case 'delete': {
        history.deleted = new Deed(undefined, oracle.moment());
        return perform(history.deleted, () => this.#running().deleteStream(step.stream));
      }
      case 'configure': {
        const latest = history.configs.at(-1)?.content;
        const deed = new Deed(configOf(step.options, latest), oracle.moment());
        history.configs.push(deed);
        return perform(deed, () => stream.configure(step.options));
      }
      default:
        return this.#moveWithin(step, stream, history);
    }
  }

  /** Steps that name an offset of the stream. */
  async #moveWithin(step: Extract<Step, { share: number }>, stream: Stream, history: StreamHistory): Promise<unknown> {
    const { oracle } = this;
    const { firstOffset, nextOffset } = await this.#settle(stream.info());
    const offset = firstOffset + Math.floor(((nextOffset - firstOffset) * step.share) / 100);
    if (step.do === 'trim') {
      const deed = new Deed(offset, oracle.moment());
      history.trims.push(deed);
      return oracle.perform(deed, () => stream.trim(offset), isRefusal);
    }
    if (step.do === 'truncate') {
      const deed = new Deed({ type: 'truncate', nextOffset: offset } as const, oracle.moment());
      history.changes.push(deed);
      return oracle.perform(deed, () => stream.truncate({ after: offset - 1 }), isRefusal);
    }
    const at = Math.max(firstOffset, offset - 1);
    const consumer = CONSUMERS[this.#random.below(CONSUMERS.length)] ?? '';
    const deed = new Deed(at, oracle.moment());
    history.offsets.set(consumer, [...(history.offsets.get(consumer) ?? []), deed]);
    const { durable } = step;
    const stored = stream.storeOffset(consumer, at, { durable });
    // Without `durable` nothing is promised by the time it resolves.
    if (durable) return oracle.perform(deed, () => stored, isRefusal);
    return stored.catch((error: unknown) => {
      if (isRefusal(error)) deed.refusedAt = oracle.moment();
      throw error;
    });
  }

  #append(stream: Stream, history: StreamHistory, sizes: readonly number[]): Promise<unknown> {
    const { oracle } = this;
    const records = sizes.map((size): ModelRecord => {
      const keyed = history.name === KEYED;
      this.#values += 1;
      const text = `${this.#options.seed}.${this.#values} `.padEnd(size, 'x');
      return {
        key: keyed ? `key ${this.#random.below(4)}` : null,
        value: keyed && this.#random.below(8) === 0 ? null : text,
      };
    });
    const deed = new Deed({ type: 'append', records } as const, oracle.moment());
    history.changes.push(deed);
    const [first] = records;
    if (records.length > 1 || first === undefined) {
      return oracle.perform(deed, () => stream.appendMany(records.map(inputOf)), isRefusal);
    }
    const options = first.key === null ? {} : { key: first.key };
    return oracle.perform(deed, () => stream.append(first.value, options), isRefusal);
  }

  async #publish(stream: Stream, history: StreamHistory, count: number, again: boolean): Promise<unknown> {
    const { oracle } = this;
    const publisher = stream.publisher(PUBLISHER);
    const sent = history.changes.flatMap(({ content }) =>
      content.type === 'append' ? [content.publishingId ?? 0] : [],
    );
    const next = Math.max(history.publishedBefore, 1 + Math.max(-1, ...sent));
    const answers: Promise<unknown>[] = [];
    const first = again ? Math.max(0, next - 2) : next;
    for (let id = first; id < next + count; id += 1) {
      if (id < next) {
        const answer = publisher.append(id, 'sent again');
        answers.push(answer.then(({ duplicate }) => assert.ok(duplicate, `id ${id} is a duplicate`)));
        continue;
      }
      this.#values += 1;
      const value = `${this.#options.seed}.${this.#values} id ${id}`;
      const change = { type: 'append', records: [{ key: null, value }], publishingId: id } as const;
      const deed = new Deed(change, oracle.moment());
      history.changes.push(deed);
      answers.push(oracle.perform(deed, () => publisher.append(id, value), isRefusal));
    }
    return Promise.all(answers);
  }
}

function inputOf({ key, value }: ModelRecord): { value: string | null; key?: string } {
  return key === null ? { value } : { key, value };
}

function isRefusal(error: unknown): boolean {
  return REFUSALS.some((code) => isMillraceError(error, code));
}
