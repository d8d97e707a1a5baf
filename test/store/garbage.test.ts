/**
 * Campaigns of faults: object stores and coordinators that fail, agents that wake up after their lease, writers that
 * finish after their reservation was forgotten. Whatever happens, every object in the store is committed, deleting,
 * reserved or an orphan; the search for orphans removes these when they are old, and nothing else.
 */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { SeededRandom } from '../../src/base/random.ts';
import type { ObjectEntry } from '../../src/object/object-store.ts';
import { SteadyTime } from '../../src/base/clock.ts';
import { removeOrphans } from '../../src/store/orphans.ts';
import { FaultyObjectStore, type ObjectFault } from '../../src/testing/faulty-object-store.ts';
import { faultyCoordinator, Steps } from '../compaction/faults.ts';
import { DAY, HOUR, keyed, latestOf, MINUTE, plain, type SeenRecord, STORE_ID, World } from '../compaction/world.ts';

const SEEDS = Number(process.env['MILLRACE_GARBAGE_SEEDS'] ?? 12);
const ROUNDS = 12;
const KNOWN: ReadonlySet<string> = new Set(['committed', 'deleting', 'reserved']);

class Campaign {
  readonly world: World;
  readonly random: SeededRandom;
  readonly faulty: FaultyObjectStore;
  readonly ids: number[] = [];
  /** Objects whose writers were so late that their keys were forgotten. */
  readonly late: string[] = [];
  readonly injected: Record<string, number> = {};

  private constructor(world: World, seed: number) {
    this.world = world;
    this.random = new SeededRandom(seed);
    this.faulty = new FaultyObjectStore(world.memory, this.random, {});
  }

  static async start(seed: number): Promise<Campaign> {
    const campaign = new Campaign(await World.open(), seed);
    campaign.ids.push(
      await campaign.world.stream('plain'),
      await campaign.world.stream('keys', { cleanup: 'compact' }),
    );
    return campaign;
  }

  async round(): Promise<void> {
    const { world, random } = this;
    for (let object = 0; object <= random.below(3); object += 1) {
      await world.append(
        { streamId: this.ids[0] ?? 0, records: plain(1 + random.below(20)) },
        { streamId: this.ids[1] ?? 0, records: keyed(1 + random.below(20), 5) },
      );
    }
    await this.#compactBadly();
    if (random.below(3) === 0) await this.#finishLate();
    if (random.below(2) === 0) await this.#clean();
    world.clock.advance([MINUTE, HOUR, DAY][random.below(3)] ?? MINUTE);
    await this.check();
  }

  /** Nothing in the object store is unknown but what late writers have left. */
  async check(): Promise<void> {
    const { world } = this;
    const stored = await this.stored();
    const classes = await world.coordinator.classifyKeys(stored.map(({ key }) => key));
    const unknown = stored.filter((_, index) => !KNOWN.has(classes[index] ?? ''));
    for (const { key } of unknown) assert.ok(this.late.includes(key), `${key} is of nobody`);
    const committed = new Set(await world.committedKeys());
    for (const { key } of stored) committed.delete(key);
    assert.deepEqual([...committed], [], 'what is committed is stored');
    assert.deepEqual(await world.coordinator.verify(), []);
  }

  async stored(): Promise<ObjectEntry[]> {
    const entries: ObjectEntry[] = [];
    for await (const entry of this.world.memory.list()) entries.push(entry);
    return entries;
  }

  async readAll(): Promise<SeenRecord[][]> {
    return [await this.world.read(this.ids[0] ?? 0), await this.world.read(this.ids[1] ?? 0)];
  }

  /** An agent whose object store and coordinator fail at some step, with all that follow or alone. */
  async #compactBadly(): Promise<void> {
    const { world, random, faulty } = this;
    const rate = random.below(4) / 40;
    const fault: ObjectFault = (['unavailable', 'lost', 'timeoutAfterSuccess', 'shortBody', 'bitFlip'] as const)[
      random.below(5)
    ] as ObjectFault;
    faulty.setRates({ [fault]: rate });
    world.objects = faulty;
    const steps = new Steps();
    const moment = random.below(2) === 0 ? 'before' : 'after';
    Object.assign(steps, { failAt: random.below(12), moment, fatal: random.below(2) === 0 });
    const agent = world.agent({}, { coordinator: faultyCoordinator(world.coordinator, steps) });
    await agent.compact({ force: true }).catch(() => undefined);
    if (steps.hit !== undefined) this.injected[steps.hit] = (this.injected[steps.hit] ?? 0) + 1;
    faulty.setRates({});
    world.objects = world.memory;
  }

  /** Reserved, forgotten after its time, and only then written: what a process does that slept for days. */
  async #finishLate(): Promise<void> {
    const { world } = this;
    const [key = ''] = (await world.coordinator.reserveObjects(1)).keys;
    world.clock.advance(2 * HOUR);
    await this.#clean();
    world.clock.advance(2 * DAY);
    await world.coordinator.expire();
    await world.writeUncommitted(key);
    this.late.push(key);
  }

  async #clean(): Promise<void> {
    const { world } = this;
    await world.coordinator.expire();
    world.clock.advance(2 * MINUTE);
    const keys = await world.coordinator.objectsToDelete(1_000);
    await world.coordinator.confirmDeleted(await this.world.memory.delete(keys));
  }
}

suite('after any campaign of faults', () => {
  test('the store holds what is committed, deleting, reserved, or a young orphan, and old orphans go', async () => {
    let late = 0;
    const hit = new Set<string>();
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const campaign = await Campaign.start(seed);
      const { world } = campaign;
      for (let round = 0; round < ROUNDS; round += 1) await campaign.round();
      for (const step of Object.keys(campaign.injected)) hit.add(step);
      const before = await campaign.readAll();
      const search = {
        coordinator: world.coordinator,
        objects: world.memory,
        storeId: STORE_ID,
        time: new SteadyTime(world.clock),
      };
      const young = await removeOrphans(search, { minAge: 3_650 * DAY });
      assert.deepEqual([young.orphans, young.young], [0, campaign.late.length], `seed ${seed}`);
      world.clock.advance(2 * DAY);
      const dry = await removeOrphans(search, { dryRun: true });
      assert.deepEqual(
        dry.listed.map(({ key }) => key),
        [...campaign.late].sort(),
        `seed ${seed}`,
      );
      assert.equal((await removeOrphans(search)).deleted, campaign.late.length);
      campaign.late.length = 0;
      await campaign.check();
      assert.deepEqual(await campaign.readAll(), before, 'nobody lost a record');
      await world.coordinator.expire();
      await world.agent().compact({ force: true });
      assert.deepEqual((await campaign.readAll())[1], latestOf(before[1] ?? []));
      await world.check();
      late += dry.orphans;
    }
    assert.ok(late > SEEDS, `${late} orphans were made`);
    for (const step of ['claimJob', 'reserveObjects', 'commitJob']) assert.ok(hit.has(step), `${step} failed`);
  });
});
