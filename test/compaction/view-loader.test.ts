/** The planners' view of a real coordinator: what it says, and how little it asks for. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { compactionSettings } from '../../src/compaction/settings.ts';
import { dirtyRatioOf } from '../../src/compaction/view.ts';
import { ViewLoader } from '../../src/compaction/view-loader.ts';
import { TRACKING_ENTRY } from '../../src/record/tracking-format.ts';
import { keyed, plain, World } from './world.ts';
import { faultyCoordinator, Steps } from './faults.ts';

suite('the view', () => {
  test('finds nothing dirty in objects that are whole, and just what is dead in others', async () => {
    const world = await World.open();
    const [a, b] = [await world.stream('a'), await world.stream('b', { compression: 'none' })];
    await world.append(
      { streamId: a, records: plain(40, 'a', 300) },
      { streamId: b, records: plain(40, 'b', 900), compression: 'none' },
    );
    const loader = new ViewLoader(world.coordinator, compactionSettings());
    const [whole] = (await loader.load()).objects;
    assert.equal(whole === undefined ? undefined : dirtyRatioOf(whole), 0);
    assert.equal(whole?.cleanBytes, whole?.bytes);
    await world.coordinator.deleteStream(b);
    const [dirty] = (await loader.load()).objects;
    assert.ok(dirty !== undefined);
    const ratio = dirtyRatioOf(dirty);
    assert.ok(ratio > 0.6 && ratio < 0.95, `${ratio}`);
    assert.deepEqual([...dirty.streamIds], [a]);
  });

  test('knows keyed streams, classes and superseded tracking, and follows a change of config', async () => {
    const world = await World.open();
    const [keys, bulk] = [await world.stream('keys', { cleanup: 'compact' }), await world.stream('bulk')];
    const entry = { type: TRACKING_ENTRY.offset, reference: 'r'.repeat(100), offset: 1 };
    await world.append(
      { streamId: keys, records: keyed(6, 2), tracking: [entry] },
      { streamId: bulk, records: plain(9, 'x', 90) },
    );
    await world.append({ streamId: keys, records: keyed(4, 2), tracking: [entry], snapshot: true });
    const loader = new ViewLoader(world.coordinator, compactionSettings());
    const {
      objects: [first, second],
    } = await loader.load(true);
    assert.deepEqual([first?.className, second?.className], ['infinite', 'keys']);
    assert.deepEqual(
      first?.keyedParts.map(({ firstOffset, endOffset, records }) => [firstOffset, endOffset, records]),
      [[0, 6, 6]],
    );
    assert.ok((first?.supersededBytes ?? 0) > 100);
    assert.equal(second?.supersededBytes, 0, 'the newest snapshot is needed');
    await world.coordinator.configureStream(keys, { compression: 'lz4', retention: {}, cleanup: 'delete' });
    const { objects } = await loader.load();
    assert.deepEqual(
      objects.flatMap(({ keyedParts }) => keyedParts),
      [],
    );
  });

  test('asks for the runs of an object once, and again when some have died', async () => {
    const world = await World.open();
    const [a, b] = [await world.stream('a'), await world.stream('b')];
    for (let index = 0; index < 3; index += 1) {
      await world.append({ streamId: a, records: plain(3) }, { streamId: b, records: plain(3) });
    }
    let asked = 0;
    const coordinator = new Proxy(faultyCoordinator(world.coordinator, new Steps()), {
      get(target, name): unknown {
        if (name === 'objectRuns') asked += 1;
        return Reflect.get(target, name, target) as unknown;
      },
    });
    const loader = new ViewLoader(coordinator, compactionSettings());
    await loader.load();
    assert.equal(asked, 3);
    await loader.load();
    await world.stream('c');
    await loader.load();
    assert.equal(asked, 3);
    await world.coordinator.trim(a, 4);
    await loader.load();
    assert.equal(asked, 4);
  });
});
