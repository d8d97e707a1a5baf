/** Rounds of the janitor that overlap: its timer's, and those that `compact()` asks for. */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { suite, test } from 'node:test';
import { SteadyTime } from '../../src/base/clock.ts';
import type { ObjectStore } from '../../src/object/object-store.ts';
import { Janitor } from '../../src/store/janitor.ts';
import { Trimming } from '../../src/store/trimming.ts';
import { HOUR, plain, World } from '../compaction/world.ts';

const OBJECTS = 3;

interface House {
  readonly janitor: Janitor;
  /** Deletions that have reached the object store, and wait there. */
  readonly deletions: (() => void)[];
}

/** Objects whose grace is over, in an object store that deletes when it is told to. */
async function house(): Promise<House> {
  const world = await World.open();
  const streamId = await world.stream('s');
  for (let index = 0; index < OBJECTS; index += 1) await world.append({ streamId, records: plain(2) });
  await world.coordinator.deleteStream(streamId);
  world.clock.advance(HOUR);
  const deletions: (() => void)[] = [];
  const objects = {
    delete: async (keys: readonly string[]) => {
      await new Promise<void>((resolve) => deletions.push(resolve));
      return world.memory.delete(keys);
    },
    removeUnfinished: () => Promise.resolve(0),
  } as unknown as ObjectStore;
  const { coordinator, clock } = world;
  const nothing = (): Promise<void> => Promise.resolve();
  const trimming = new Trimming({ coordinator, clock, hasTruncations: () => false, flush: nothing, trimmed: nothing });
  return { janitor: new Janitor(coordinator, objects, trimming, new SteadyTime(clock)), deletions };
}

/** Lets deletions go, one after the other, until `work` has ended. */
async function deleteUntil(work: Promise<unknown>, { deletions }: House): Promise<void> {
  let over = false;
  void work.finally(() => (over = true));
  while (!over) {
    deletions.shift()?.();
    await nextTurn();
  }
  await work;
}

suite('rounds of the janitor at once', () => {
  test('delete each object once', async () => {
    const made = await house();
    const { janitor } = made;
    await deleteUntil(Promise.all([janitor.round(), janitor.round()]), made);
    assert.deepEqual([janitor.counters.deleted, janitor.counters.unconfirmed], [OBJECTS, 0]);
  });

  test('have all ended their deletions when whoever holds them goes on', async () => {
    const made = await house();
    const { janitor, deletions } = made;
    const rounds = Promise.all([janitor.round(), janitor.round()]);
    while (deletions.length === 0) await nextTurn();
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    // The one that came last ends first.
    deletions.pop()?.();
    let held = false;
    const hold = janitor.hold().then((release) => {
      held = true;
      return release;
    });
    for (let turn = 0; turn < 50; turn += 1) await nextTurn();
    assert.ok(!held || deletions.length === 0, 'a deletion is under way');
    await deleteUntil(rounds, made);
    (await hold)();
  });
});
