/** Random histories of a whole store against plain lists: appends, cuts at both ends, deletions, flushes, kills. */
import assert from 'node:assert/strict';
import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { Store } from '../../src/index.ts';
import { coded, numbered, SMALL_WAL, StoreFolder, texts } from '../support/test-store.ts';

const NAMES = ['a', 'b', 'c'];
const GEOMETRIES = [SMALL_WAL, { ...SMALL_WAL, slots: 3 }, { ...SMALL_WAL, slotBytes: 2 * SMALL_WAL.slotBytes }];

const name = fc.constantFrom(...NAMES);
const share = fc.double({ min: 0, max: 1, noNaN: true });
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      does: fc.constant('append' as const),
      name,
      count: fc.integer({ min: 1, max: 20 }),
      bytes: fc.constantFrom(0, 50, 2_000),
      many: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('flush' as const) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('truncate' as const), name, share }) },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('trim' as const), name, share }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('delete' as const), name }) },
  {
    weight: 1,
    arbitrary: fc.record({ does: fc.constant('close' as const), geometry: fc.constantFrom(...GEOMETRIES) }),
  },
  { weight: 2, arbitrary: fc.record({ does: fc.constant('kill' as const), geometry: fc.constantFrom(...GEOMETRIES) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('read' as const), name, share, limit: fc.nat(30) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Values by offset; those below `first` are trimmed. */
interface ModelStream {
  values: string[];
  first: number;
  /** A run of a segment may have been cut: all of its bytes count as long as it is there. */
  cut: boolean;
}

class Run {
  readonly #folder: StoreFolder;
  readonly #model = new Map<string, ModelStream>();
  #store: Store;
  #serial = 0;

  private constructor(folder: StoreFolder, store: Store) {
    this.#folder = folder;
    this.#store = store;
  }

  static async start(t: TestContext): Promise<Run> {
    const folder = new StoreFolder(t);
    return new Run(folder, await folder.open());
  }

  async take(action: Step): Promise<void> {
    if (action.does === 'flush') await this.#store.flush();
    else if (action.does === 'close') await this.#reopen(action.geometry, false);
    else if (action.does === 'kill') await this.#reopen(action.geometry, true);
    else if (action.does === 'delete') await this.#delete(action.name);
    else if (action.does === 'append') await this.#append(action);
    else await this.#cutOrRead(action);
  }

  /** Everything is as in the model, now and, after a kill, again. */
  async finish(): Promise<void> {
    await this.#checkAll();
    await this.#reopen(SMALL_WAL, true);
    await this.#checkAll();
    await this.#store.flush();
    await this.#checkAll();
    assert.deepEqual((await this.#store.verify()).problems, []);
    await this.#store.close();
  }

  #modelOf(stream: string): ModelStream {
    const known = this.#model.get(stream) ?? { values: [], first: 0, cut: false };
    this.#model.set(stream, known);
    return known;
  }

  async #append({ name, count, bytes, many }: Extract<Step, { does: 'append' }>): Promise<void> {
    const { values } = this.#modelOf(name);
    const stream = await this.#store.stream(name);
    const added = numbered(count, 'x'.repeat(bytes), (this.#serial += 1_000));
    if (many) assert.equal(await stream.appendMany(added), values.length);
    else assert.equal((await Promise.all(added.map((value) => stream.append(value))))[0], values.length);
    values.push(...added);
  }

  async #delete(name: string): Promise<void> {
    const known = this.#model.delete(name);
    assert.equal(await this.#store.deleteStream(name), known);
  }

  async #cutOrRead(action: Extract<Step, { does: 'truncate' | 'trim' | 'read' }>): Promise<void> {
    const model = this.#modelOf(action.name);
    const stream = await this.#store.stream(action.name);
    const offset = model.first + Math.floor(action.share * (model.values.length - model.first));
    if (action.does === 'read') {
      const { limit } = action;
      assert.deepEqual(await texts(stream.read({ from: offset, limit })), model.values.slice(offset, offset + limit));
      assert.equal((await stream.get(offset))?.value?.toString(), model.values[offset]);
    } else if (action.does === 'trim') {
      await stream.trim(offset);
      model.first = offset;
      model.cut ||= offset > 0;
    } else {
      await stream.truncate({ after: offset - 1 });
      model.cut ||= offset < model.values.length;
      model.values.length = offset;
      await assert.rejects(stream.truncate({ after: offset }), coded('ERR_MILLRACE_OFFSET_OUT_OF_RANGE'));
    }
  }

  async #reopen(wal: (typeof GEOMETRIES)[number], killed: boolean): Promise<void> {
    const { dir, parent } = this.#folder;
    const copy = join(parent, 'copy');
    if (killed) {
      // A flush under way would change files while they are copied one after the other.
      await settled(this.#store);
      cpSync(dir, copy, { recursive: true });
    }
    await this.#store.close();
    if (killed) {
      rmSync(dir, { recursive: true });
      renameSync(copy, dir);
    }
    this.#store = await this.#folder.open({ wal });
  }

  async #checkAll(): Promise<void> {
    assert.deepEqual(
      (await this.#store.streams()).map((stream) => stream.name),
      [...this.#model.keys()].sort(),
    );
    for (const [stream, { values, first, cut }] of this.#model) {
      const handle = await this.#store.stream(stream);
      assert.deepEqual(await texts(handle.read()), values.slice(first));
      const { firstOffset, nextOffset, durableOffset, records, userBytes } = await handle.info();
      const end = values.length;
      assert.deepEqual([firstOffset, nextOffset, durableOffset, records], [first, end, end, end - first]);
      const bytes = values.slice(first).reduce((sum, value) => sum + value.length, 0);
      assert.ok(cut ? userBytes >= bytes : userBytes === bytes, `${userBytes} user bytes, ${bytes} expected`);
    }
  }
}

/** Waits until no flush is under way. */
async function settled(store: Store): Promise<void> {
  while ((store.stats().flush?.waiting ?? 0) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

test('any history of a store reads as plain lists would, before and after kills', async (t) => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 18 }), async (steps) => {
    const run = await Run.start(t);
    for (const action of steps) await run.take(action);
    await run.finish();
  });
  await fc.assert(property, { numRuns: 15, endOnFailure: true });
});
