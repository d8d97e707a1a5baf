/**
 * Everything at once on one store with the smallest ring there is: appends, readers of every kind, flushes, retention,
 * trims, compaction and deletion of objects. Every value that is read is whole, is the right one, and is there for as
 * long as it should be.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { isMillraceError, open, type Store, type Stream } from '../../src/index.ts';
import { assertStamped, stamped } from './stamped.ts';

export interface StressOptions {
  readonly dir: string;
  readonly seed: number;
  readonly seconds: number;
}

export interface StressFigures {
  readonly appended: number;
  readonly read: number;
  readonly segments: number;
  readonly compactions: number;
}

const STREAMS = 6;
/** Of these, records go by themselves. */
const RETAINED = 2;
const WAL = { slots: 2, slotBytes: 64 * 1024, flushInterval: 40 };
/** Objects are replaced early, and deleted soon after, under the eyes of readers. */
const COMPACTION = {
  interval: 50,
  minFirstGenerationAge: 0,
  maxFirstGenerationAge: 100,
  minInputs: 2,
  targetBytes: 512 * 1024,
  deleteGrace: 100,
};

/** One stream, and what is known of it by now. */
interface Lane {
  readonly index: number;
  readonly stream: Stream;
  /** Offsets below this are acknowledged. */
  acked: number;
  /** Offsets below this may be gone. */
  trimmed: number;
}

/** Goes on beyond its time until something was appended, flushed and read. Rejects with what is wrong. */
export async function runStress({ dir, seed, seconds }: StressOptions): Promise<StressFigures> {
  await loadChecksum();
  const store = await open({ dir, wal: WAL, compaction: COMPACTION });
  const stress = new Stress(store, seed, performance.now() + 1_000 * seconds);
  try {
    return await stress.run(dir);
  } finally {
    await store.close();
  }
}

class Stress {
  readonly #store: Store;
  readonly #seed: number;
  readonly #end: number;
  readonly #lanes: Lane[] = [];
  #failed = false;
  #appended = 0;
  #read = 0;

  constructor(store: Store, seed: number, end: number) {
    this.#store = store;
    this.#seed = seed;
    this.#end = end;
  }

  async run(dir: string): Promise<StressFigures> {
    for (let index = 0; index < STREAMS; index += 1) {
      const retention = index < RETAINED ? { retention: { maxBytes: 200_000 } } : {};
      const compression = index % 2 === 0 ? 'lz4' : 'none';
      const stream = await this.#store.stream(`stream ${index}`, { ...retention, compression });
      this.#lanes.push({ index, stream, acked: 0, trimmed: 0 });
    }
    const halt = new AbortController();
    const work = [
      ...this.#lanes.map((lane) => this.#repeat(lane.index, (random) => this.#append(lane, random))),
      ...this.#lanes.map((lane) => this.#repeat(100 + lane.index, (random) => this.#scan(lane, lane.stream, random))),
      ...this.#lanes.map((lane) => this.#repeat(200 + lane.index, (random) => this.#get(lane, random))),
      ...this.#lanes.map((lane) => this.#follow(lane, halt.signal)),
      this.#repeat(300, (random) => this.#disturb(random)),
      this.#external(dir),
    ];
    const all = work.map((each) => this.#watched(each));
    await Promise.all(all.slice(0, -STREAMS - 2));
    halt.abort();
    await Promise.all(all);
    return this.#finish();
  }

  /** The first failure ends all work, so that nothing hides it. */
  async #watched(work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      this.#failed = true;
      throw error;
    }
  }

  get #over(): boolean {
    if (this.#failed) return true;
    if (performance.now() < this.#end || this.#appended === 0 || this.#read === 0) return false;
    return (this.#store.stats().flush?.segments ?? 0) > 0;
  }

  async #repeat(task: number, act: (random: SeededRandom) => Promise<void>): Promise<void> {
    const random = new SeededRandom(this.#seed + task);
    while (!this.#over) {
      await act(random);
      if (random.below(8) === 0) await sleep(random.below(5));
    }
  }

  async #append(lane: Lane, random: SeededRandom): Promise<void> {
    const from = lane.acked;
    const count = random.below(3) === 0 ? 1 : 1 + random.below(40);
    const values = Array.from({ length: count }, (_, index) => stamped(lane.index, from + index, random.below(600)));
    const first = count === 1 ? await lane.stream.append(values[0] ?? '') : await lane.stream.appendMany(values);
    assert.equal(first, from, 'offsets are handed out in order');
    lane.acked += count;
    this.#appended += count;
  }

  /** Reads a part, from an offset that may go while it is read. */
  async #scan(lane: Lane, stream: Stream, random: SeededRandom): Promise<void> {
    const acked = lane.acked;
    if (acked === 0) return;
    const from = random.below(acked);
    const limit = 1 + random.below(300);
    let next: number | undefined;
    for await (const { offset, value } of stream.read({ from, limit, onTrimmed: 'skip' })) {
      this.#check(lane, offset, value, next ?? from);
      next = offset + 1;
    }
    // Whatever was acknowledged before is there, unless it was trimmed.
    if (next === undefined) assert.ok(from < this.#trimmedOf(lane), `offset ${from} of ${acked} was not there`);
    else assert.ok(next >= Math.min(acked, from + limit), 'a scan ended early');
  }

  async #get(lane: Lane, random: SeededRandom): Promise<void> {
    if (lane.acked === 0) return;
    const offset = random.below(2) === 0 ? lane.acked - 1 : random.below(lane.acked);
    const record = await lane.stream.get(offset);
    if (record === undefined) {
      const { firstOffset } = await lane.stream.info();
      assert.ok(
        offset < Math.max(firstOffset, lane.trimmed),
        `offset ${offset} was not found, the first is ${firstOffset}`,
      );
    } else {
      this.#check(lane, record.offset, record.value, offset);
    }
  }

  async #follow(lane: Lane, signal: AbortSignal): Promise<void> {
    let next = 0;
    try {
      for await (const { offset, value } of lane.stream.read({ from: 0, follow: true, signal, onTrimmed: 'skip' })) {
        this.#check(lane, offset, value, next);
        next = offset + 1;
        if (this.#failed) return;
      }
    } catch (error) {
      if (!isMillraceError(error, 'ERR_MILLRACE_ABORTED')) throw error;
    }
  }

  /** `due` is the offset that comes next unless records were trimmed. */
  #check(lane: Lane, offset: number, value: Buffer | null, due: number): void {
    this.#read += 1;
    assertStamped(value, lane.index, offset);
    assert.ok(
      offset === due || (offset > due && offset <= this.#trimmedOf(lane)),
      `offset ${offset} where ${due} was due`,
    );
  }

  /** Retention may have trimmed up to anywhere. */
  #trimmedOf(lane: Lane): number {
    return lane.index < RETAINED ? Infinity : lane.trimmed;
  }

  async #disturb(random: SeededRandom): Promise<void> {
    const lane = this.#lanes[random.below(STREAMS)] as Lane;
    switch (random.below(6)) {
      case 0:
        await this.#store.flush();
        break;
      case 1:
        await this.#store.compact({ force: random.below(2) === 0 });
        break;
      case 2: {
        // Before the trim: what it takes may be missing from the moment it begins.
        const before = Math.max(lane.trimmed, random.below(lane.acked + 1) - 200);
        lane.trimmed = before;
        if (before >= (await lane.stream.info()).firstOffset) await this.#trim(lane, before);
        break;
      }
      case 3:
        if (lane.acked > 0) await lane.stream.storeOffset(`reader ${random.below(3)}`, random.below(lane.acked));
        break;
      default:
        await sleep(random.below(20));
    }
  }

  /** Retention may be faster. */
  async #trim(lane: Lane, before: number): Promise<void> {
    try {
      await lane.stream.trim(before);
    } catch (error) {
      if (!isMillraceError(error, 'ERR_MILLRACE_OFFSET_OUT_OF_RANGE')) throw error;
    }
  }

  /** Another opening of the directory, as another process has it. */
  async #external(dir: string): Promise<void> {
    const random = new SeededRandom(this.#seed + 400);
    while (!this.#over) {
      const store = await open({ dir, readOnly: true });
      try {
        for (let round = 0; round < 10 && !this.#over; round += 1) await this.#readExternally(store, random);
      } finally {
        await store.close();
      }
    }
  }

  async #readExternally(store: Store, random: SeededRandom): Promise<void> {
    const lane = this.#lanes[random.below(STREAMS)] as Lane;
    const stream = await store.stream(`stream ${lane.index}`);
    let next: number | undefined;
    for await (const { offset, value } of stream.read({ from: 'first', limit: 500, onTrimmed: 'skip' })) {
      this.#check(lane, offset, value, next ?? offset);
      next = offset + 1;
    }
    await sleep(random.below(10));
  }

  /** Nothing moves any more: all of it is there, and everything that holds always holds now. */
  async #finish(): Promise<StressFigures> {
    await this.#store.compact();
    for (const lane of this.#lanes) {
      const { firstOffset, nextOffset, records } = await lane.stream.info();
      assert.equal(nextOffset, lane.acked);
      let next = firstOffset;
      for await (const { offset, value } of lane.stream.read()) {
        this.#check(lane, offset, value, next);
        next = offset + 1;
      }
      assert.equal(next, nextOffset);
      assert.equal(records, nextOffset - firstOffset, 'records are counted exactly');
    }
    assert.deepEqual((await this.#store.verify()).problems, []);
    const { flush, compaction } = this.#store.stats();
    return {
      appended: this.#appended,
      read: this.#read,
      segments: flush?.segments ?? 0,
      compactions: Object.values(compaction?.jobs ?? {}).reduce((sum, jobs) => sum + jobs, 0),
    };
  }
}
