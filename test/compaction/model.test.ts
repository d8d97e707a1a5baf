/**
 * Random stores, compacted in every way: afterwards readers find exactly the records they found before, or of a keyed
 * stream exactly those that an oracle keeps, and the coordinator has accepted every job.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { StreamConfig } from '../../src/record/stream-config.ts';
import { TRACKING_ENTRY, type TrackingEntry } from '../../src/record/tracking-format.ts';
import { DAY, latestOf, type Part, type SeenRecord, World, type WrittenRecord } from './world.ts';
import { streamed } from './streamed-store.ts';

const CONFIGS: readonly Partial<StreamConfig>[] = [
  {},
  { cleanup: 'compact' },
  { retention: { maxAge: 30 * DAY } },
  { retention: { maxBytes: 1 << 30 }, compression: 'none' },
  { deletionDeadline: DAY },
  { cleanup: 'compact', compression: 'none' },
];

type Step =
  | { readonly type: 'append'; readonly relative: boolean; readonly parts: readonly Draft[] }
  | { readonly type: 'trim'; readonly stream: number; readonly share: number }
  | { readonly type: 'truncate'; readonly stream: number; readonly share: number }
  | { readonly type: 'delete'; readonly stream: number }
  | { readonly type: 'compact'; readonly force: boolean }
  | { readonly type: 'wait'; readonly days: number };

interface Draft {
  readonly stream: number;
  readonly records: readonly number[];
  readonly size: number;
  readonly frameRecords: number;
  readonly chunkFrames: number;
  readonly tracking: number;
}

const draft: fc.Arbitrary<Draft> = fc.record({
  stream: fc.nat(CONFIGS.length - 1),
  /** Each picks a key, or none; every seventh is a tombstone. */
  records: fc.array(fc.nat(30), { maxLength: 12, size: 'max' }),
  size: fc.oneof(
    { weight: 5, arbitrary: fc.nat(40) },
    { weight: 1, arbitrary: fc.integer({ min: 50_000, max: 150_000 }) },
  ),
  frameRecords: fc.integer({ min: 1, max: 5 }),
  chunkFrames: fc.integer({ min: 1, max: 4 }),
  tracking: fc.nat(8),
});
const stream = fc.nat(CONFIGS.length - 1);
const share = fc.double({ min: 0, max: 1, noNaN: true });
const append = fc.record({
  type: fc.constant('append' as const),
  relative: fc.boolean(),
  parts: fc.array(draft, { minLength: 1, maxLength: 5 }),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: append },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('trim' as const), stream, share }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('truncate' as const), stream, share }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('delete' as const), stream }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('compact' as const), force: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('wait' as const), days: fc.nat(40) }) },
);

class Model {
  readonly world: World;
  readonly ids: number[] = [];
  readonly epochs: number[] = CONFIGS.map(() => 0);
  #appends = 0;
  #deleted = 0;

  constructor(world: World) {
    this.world = world;
  }

  async start(): Promise<void> {
    for (const [index, config] of CONFIGS.entries()) this.ids.push(await this.world.stream(`s${index}`, config));
  }

  async run(step: Step): Promise<void> {
    const { world } = this;
    switch (step.type) {
      case 'append':
        return this.#append(step.parts, step.relative);
      case 'wait':
        world.clock.advance(step.days * DAY);
        return;
      case 'compact':
        return this.#compact(step.force);
      case 'delete': {
        await world.coordinator.deleteStream(this.#id(step.stream));
        this.#deleted += 1;
        this.ids[step.stream] = await world.stream(`again ${this.#deleted}`, CONFIGS[step.stream]);
        this.epochs[step.stream] = 0;
        return;
      }
      default: {
        const id = this.#id(step.stream);
        const { firstOffset, nextOffset } = await world.coordinator.findRuns(id, 0, { maxRuns: 1, maxBytes: 1 });
        const offset = firstOffset + Math.floor((nextOffset - firstOffset) * step.share);
        if (step.type === 'trim') {
          await world.coordinator.trim(id, offset);
          return;
        }
        this.epochs[step.stream] = (this.epochs[step.stream] ?? 0) + 1;
        await world.coordinator.truncateStream({
          streamId: id,
          nextOffset: offset,
          epoch: this.epochs[step.stream] ?? 0,
        });
      }
    }
  }

  #id(index: number): number {
    return this.ids[index] as number;
  }

  async #append(drafts: readonly Draft[], relative: boolean): Promise<void> {
    this.#appends += 1;
    const parts = new Map<number, Part>();
    for (const { stream, records, size, frameRecords, chunkFrames, tracking } of drafts) {
      if (records.length === 0 && tracking > 4) continue;
      const streamId = this.#id(stream);
      const entry: TrackingEntry = {
        type: TRACKING_ENTRY.offset,
        reference: `r${tracking % 3}`,
        offset: this.#appends,
      };
      const written = records.map((pick, index): WrittenRecord => ({
        key: pick % 5 === 0 ? null : `key ${pick % 8}`,
        value: pick % 7 === 0 ? null : `${this.#appends}.${index} ${'v'.repeat(size)}`,
      }));
      const tracked = tracking <= 4 ? { tracking: [entry], snapshot: tracking === 1 } : {};
      const epoch = this.epochs[stream] ?? 0;
      parts.set(streamId, { streamId, records: written, frameRecords, chunkFrames, epoch, ...tracked });
    }
    if (parts.size === 0) return;
    const ordered = [...parts.values()].sort((left, right) => left.streamId - right.streamId);
    await (relative ? this.world.appendRelative(...ordered) : this.world.append(...ordered));
  }

  async #compact(force: boolean): Promise<void> {
    const { world } = this;
    const before = await this.#readAll();
    const tracking = await this.#trackingOfAll();
    const committed = await world.committedKeys();
    const agent = world.agent({ tombstoneRetention: 3_650 * DAY });
    const summary = await agent.compact({ force });
    assert.equal(agent.counters.failures, agent.counters.conflicts, `${agent.counters.lastError}`);
    const after = await this.#readAll();
    assert.deepEqual(await this.#trackingOfAll(), tracking, 'tracking is what it was');
    for (const [index, config] of CONFIGS.entries()) {
      const [old = [], now = []] = [before[index], after[index]];
      if (config.cleanup !== 'compact') {
        assert.deepEqual(now, old);
      } else if (force) {
        assert.deepEqual(now, latestOf(old), 'exactly the latest record of each key');
      } else {
        // What is not due stays: a subset that holds at least the latest of each key.
        const present = new Set(now.map(({ offset }) => offset));
        assert.deepEqual(
          now,
          old.filter(({ offset }) => present.has(offset)),
        );
        for (const { offset } of latestOf(old)) assert.ok(present.has(offset), `the record at ${offset} is the latest`);
      }
    }
    if (summary.jobs === 0) assert.deepEqual(await world.committedKeys(), committed);
    await world.check();
    if (force) assert.equal((await world.agent().compact({ force })).jobs, 0, 'nothing is left to do');
  }

  async #readAll(): Promise<SeenRecord[][]> {
    const all: SeenRecord[][] = [];
    for (const id of this.ids) all.push(await this.world.read(id));
    return all;
  }

  async #trackingOfAll(): Promise<unknown[]> {
    const all: unknown[] = [];
    for (const id of this.ids) all.push(await this.world.tracking(id));
    return all;
  }
}

suite('random stores', () => {
  test('hold the same records after every compaction', async () => {
    let jobs = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 3, maxLength: 25, size: 'max' }),
        fc.boolean(),
        async (steps, costs) => {
          const model = new Model(await World.open());
          if (costs) model.world.objects = streamed(model.world.memory);
          await model.start();
          for (const current of steps) await model.run(current);
          await model.run({ type: 'compact', force: true });
          jobs += model.world.jobs.length;
        },
      ),
      { numRuns: 60 },
    );
    assert.ok(jobs > 60, `${jobs} jobs ran`);
  });
});
