/**
 * Random histories of a stream that is appended to, truncated, trimmed, flushed, closed, killed and opened again, held
 * against a plain array, by readers that read it at once and by one that rests between its batches. A kill is a copy of
 * the directory as it is while the store runs.
 */
import assert from 'node:assert/strict';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { open, type RecordBatch, type Store, type Stream } from '../../src/index.ts';
import { coded, openStore, SMALL_WAL } from '../support/test-store.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

interface ModelRecord {
  readonly offset: number;
  readonly value: string;
  readonly epoch: number;
}

type Step =
  | { readonly do: 'append'; readonly count: number; readonly bytes: number }
  | { readonly do: 'publish'; readonly publisher: string; readonly ids: readonly number[] }
  | { readonly do: 'truncate'; readonly share: number }
  | { readonly do: 'trim'; readonly share: number }
  | { readonly do: 'store'; readonly reference: string; readonly share: number; readonly durable: boolean }
  | { readonly do: 'flush' | 'reopen' | 'kill' | 'compact' | 'read' };

const share = fc.double({ min: 0, max: 1, noNaN: true });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      count: fc.integer({ min: 1, max: 12 }),
      bytes: fc.oneof(fc.nat({ max: 50 }), fc.nat({ max: 3_000 })),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('publish' as const),
      publisher: fc.constantFrom('p', 'q'),
      ids: fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 6 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('truncate' as const), share }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('trim' as const), share }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('store' as const),
      reference: fc.constantFrom('a', 'b'),
      share,
      durable: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ do: 'flush' as const }) },
  { weight: 4, arbitrary: fc.constant({ do: 'read' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'reopen' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'kill' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'compact' as const }) },
);

interface SlowReader {
  readonly batches: AsyncGenerator<RecordBatch, undefined>;
  /** It has all records below. */
  offset: number;
  /** Of the truncations since it read last. */
  lowestCut: number;
}

class History {
  readonly #root: string;
  readonly #stores: Store[] = [];
  #store!: Store;
  #stream!: Stream;
  #copies = 0;
  #records: ModelRecord[] = [];
  #first = 0;
  #next = 0;
  #epoch = 0;
  readonly #publishers = new Map<string, { readonly id: number; readonly offset: number }>();
  /** Stored offsets, and those that a kill may take back to. */
  readonly #offsets = new Map<string, number>();
  readonly #durable = new Map<string, number>();
  /** Reads a batch now and then. */
  #reader: SlowReader | undefined;

  constructor(root: string) {
    this.#root = root;
  }

  async start(): Promise<void> {
    await this.#open();
  }

  async end(): Promise<void> {
    await Promise.allSettled(this.#stores.map((store) => store.close()));
  }

  async run(move: Step): Promise<void> {
    if (move.do === 'append') await this.#append(move.count, move.bytes);
    else if (move.do === 'publish') await this.#publish(move.publisher, move.ids);
    else if (move.do === 'truncate') await this.#truncate(this.#place(move.share));
    else if (move.do === 'trim') await this.#trim(this.#place(move.share));
    else if (move.do === 'store') await this.#storeOffset(move.reference, this.#place(move.share), move.durable);
    else if (move.do === 'flush') await this.#store.flush();
    else if (move.do === 'read') await this.#readOn();
    else if (move.do === 'compact') await this.#store.compact({ force: true });
    else if (move.do === 'kill') await this.#kill();
    else await this.#reopen();
    await this.#check();
  }

  async #readOn(): Promise<void> {
    this.#reader ??= { batches: this.#stream.readBatches(), offset: this.#first, lowestCut: Infinity };
    const { batches, offset, lowestCut } = this.#reader;
    if (offset > lowestCut) {
      this.#reader = undefined;
      await assert.rejects(batches.next(), coded('ERR_MILLRACE_STREAM_TRUNCATED'));
      return;
    }
    this.#reader.lowestCut = Infinity;
    const { value: batch } = await batches.next();
    if (batch === undefined) {
      assert.equal(offset, this.#next, 'a reader ends where the stream does');
      this.#reader = undefined;
      return;
    }
    this.#reader.offset = batch.nextOffset;
    const found = Array.from(batch, (record) => ({ ...record, value: String(record.value) }));
    const expected = this.#records.filter((record) => record.offset >= offset && record.offset < batch.nextOffset);
    assert.deepEqual(found.map(trimmed), expected.map(trimmed), 'a reader that rested');
  }

  #place(part: number): number {
    return this.#first + Math.round(part * (this.#next - this.#first));
  }

  async #append(count: number, bytes: number): Promise<void> {
    const values = Array.from({ length: count }, (_, index) => this.#valueAt(this.#next + index).padEnd(bytes, '.'));
    assert.equal(await this.#stream.appendMany(values), this.#next);
    for (const value of values) this.#push(value);
  }

  #valueAt(offset: number): string {
    return `${this.#epoch}/${offset}`;
  }

  #push(value: string): number {
    this.#records.push({ offset: this.#next, value, epoch: this.#epoch });
    this.#next += 1;
    return this.#next - 1;
  }

  async #publish(name: string, ids: readonly number[]): Promise<void> {
    const answers = await this.#stream
      .publisher(name)
      .appendMany(ids.map((publishingId) => ({ publishingId, value: `${name}:${publishingId}` })));
    for (const [index, id] of ids.entries()) {
      const mark = this.#publishers.get(name);
      if (mark !== undefined && id <= mark.id) {
        const answer = answers[index];
        assert.equal(answer?.duplicate, true);
        if (answer.offset !== undefined) assert.deepEqual(mark, { id, offset: answer.offset });
        continue;
      }
      const offset = this.#push(`${name}:${id}`);
      assert.deepEqual(answers[index], { offset, duplicate: false });
      this.#publishers.set(name, { id, offset });
    }
  }

  async #truncate(nextOffset: number): Promise<void> {
    await this.#stream.truncate({ after: nextOffset - 1 });
    this.#epoch += 1;
    this.#next = nextOffset;
    if (this.#reader !== undefined) this.#reader.lowestCut = Math.min(this.#reader.lowestCut, nextOffset);
    this.#records = this.#records.filter(({ offset }) => offset < nextOffset);
    for (const [name, { offset }] of this.#publishers) if (offset >= nextOffset) this.#publishers.delete(name);
    for (const offsets of [this.#offsets, this.#durable]) {
      for (const [reference, offset] of offsets) {
        if (offset < nextOffset) continue;
        if (nextOffset === 0) offsets.delete(reference);
        else offsets.set(reference, nextOffset - 1);
      }
      this.#evict(offsets);
    }
  }

  /** A consumer that a truncation takes back below the log start is evicted when the stream is opened next. */
  #evict(offsets: Map<string, number>): void {
    for (const [reference, offset] of offsets) if (offset < this.#first) offsets.delete(reference);
  }

  async #trim(before: number): Promise<void> {
    await this.#stream.trim(before);
    this.#first = Math.max(this.#first, before);
    // What it is in the middle of may be gone.
    this.#reader = undefined;
    this.#records = this.#records.filter(({ offset }) => offset >= before);
    this.#evict(this.#offsets);
    this.#evict(this.#durable);
  }

  async #storeOffset(reference: string, offset: number, durable: boolean): Promise<void> {
    if (offset >= this.#next) return;
    await this.#stream.storeOffset(reference, offset, { durable });
    this.#offsets.set(reference, offset);
    // A delta takes along whatever had gathered.
    if (durable) for (const [name, stored] of this.#offsets) this.#durable.set(name, stored);
  }

  async #reopen(): Promise<void> {
    await this.#store.close();
    await this.#open();
  }

  async #kill(): Promise<void> {
    const before = join(this.#root, `${this.#copies}`);
    this.#copies += 1;
    cpSync(before, join(this.#root, `${this.#copies}`), { recursive: true });
    const lost = this.#store;
    await this.#open();
    await lost.close();
    // Whatever had not reached the log is as it was; what had gathered may have reached it by its timer or a flush.
    for (const [reference, offset] of this.#offsets) {
      const found = await this.#stream.queryOffset(reference);
      if (found === offset) continue;
      assert.equal(found, this.#durable.get(reference));
      if (found === undefined) this.#offsets.delete(reference);
      else this.#offsets.set(reference, found);
    }
  }

  async #open(): Promise<void> {
    const wal = { ...SMALL_WAL, slots: 3 };
    this.#store = await open({ dir: join(this.#root, `${this.#copies}`), wal, compaction: false });
    this.#stores.push(this.#store);
    this.#stream = await this.#store.stream('a');
    this.#reader = undefined;
  }

  async #check(): Promise<void> {
    const found: ModelRecord[] = [];
    for await (const { offset, value, epoch } of this.#stream.read())
      found.push({ offset, value: String(value), epoch });
    assert.deepEqual(found.map(trimmed), this.#records.map(trimmed));
    const { firstOffset, nextOffset, durableOffset, records, epoch } = await this.#stream.info();
    assert.deepEqual(
      { firstOffset, nextOffset, durableOffset, records, epoch },
      {
        firstOffset: this.#first,
        nextOffset: this.#next,
        durableOffset: this.#next,
        records: this.#records.length,
        epoch: this.#epoch,
      },
    );
    for (const offset of [this.#first - 1, this.#first, (this.#first + this.#next) >> 1, this.#next - 1, this.#next]) {
      if (offset < 0) continue;
      const record = await this.#stream.get(offset);
      assert.equal(record?.value?.toString(), this.#records.find((candidate) => candidate.offset === offset)?.value);
    }
    const offsets = (await this.#stream.offsets()).map(({ reference, offset }) => [reference, offset] as const);
    assert.deepEqual(new Map(offsets), this.#offsets);
    for (const name of ['p', 'q']) {
      assert.equal(await this.#stream.publisher(name).lastPublishingId(), this.#publishers.get(name)?.id);
    }
  }

  async verify(): Promise<void> {
    await this.#store.flush();
    assert.deepEqual((await this.#store.verify()).problems, []);
  }
}

/** Long values would make a failure unreadable. */
function trimmed({ offset, value, epoch }: ModelRecord): string {
  return `${offset} ${value.replace(/\.+$/, '')} (${value.length}) in epoch ${epoch}`;
}

async function play(t: TestContext, steps: readonly Step[]): Promise<void> {
  const directory = temporaryDirectory();
  const history = new History(directory.path);
  try {
    await history.start();
    for (const move of steps) await history.run(move);
    await history.verify();
  } catch (error) {
    t.diagnostic(`${JSON.stringify(steps)}\n${String((error as Error).stack)}`);
    throw error;
  } finally {
    await history.end();
    directory.remove();
  }
}

test('a stream is what a plain array is, whatever it is appended to, cut, trimmed, flushed, killed and opened', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), (steps) => play(t, steps)),
    { numRuns: 25, endOnFailure: true },
  );
});

test('beyond the end and below the log start nothing is truncated', async (t) => {
  const store = await openStore(t);
  const stream = await store.stream('a');
  await stream.appendMany(['0', '1', '2', '3']);
  await stream.trim(2);
  for (const after of [4, 0, -1, -2, 1.5, NaN]) {
    await assert.rejects(stream.truncate({ after }), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE'));
  }
  assert.equal((await stream.info()).records, 2);
  await stream.truncate({ after: 1 });
  assert.equal(await stream.append('2 again'), 2);
});
