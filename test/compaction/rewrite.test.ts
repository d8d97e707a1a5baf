/** What readers see of a store before and after its objects were rewritten. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { keyed, latestOf, plain, World } from './world.ts';

suite('a merge', () => {
  test('makes one object of many, in which readers see the same records', async () => {
    const world = await World.open();
    const [a, b] = [await world.stream('a'), await world.stream('b')];
    for (let index = 0; index < 5; index += 1) {
      await world.append({ streamId: a, records: plain(7, `a${index}`) }, { streamId: b, records: plain(4, `b${index}`) });
    }
    const before = [await world.read(a), await world.read(b)];
    assert.equal(before[0]?.length, 35);
    const summary = await world.agent().compact({ force: true });
    assert.deepEqual([summary.jobs, summary.inputs, summary.outputs], [1, 5, 1]);
    assert.deepEqual([await world.read(a), await world.read(b)], before);
    const [object] = await world.coordinator.listObjects({});
    assert.equal(object?.generation, 1);
    assert.equal(object?.liveRuns, 2);
    const [run] = await world.coordinator.objectRuns(object?.key ?? '');
    assert.equal(run?.chunks, 1, 'small chunks are joined');
    await world.check();
  });
});

suite('key compaction', () => {
  test('keeps the latest record of each key at its own offset', async () => {
    const world = await World.open();
    const id = await world.stream('keys', { cleanup: 'compact' });
    await world.append({ streamId: id, records: keyed(20, 5, 'first') });
    await world.append({ streamId: id, records: [...keyed(3, 3, 'second'), { value: 'no key' }] });
    const before = await world.read(id);
    await world.agent().compact({ force: true });
    const after = await world.read(id);
    assert.deepEqual(after, latestOf(before));
    assert.equal(after.length, 6);
    await world.check();
    assert.equal((await world.agent().compact({ force: true })).jobs, 0, 'there is nothing left to do');
  });
});
