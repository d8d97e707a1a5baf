import assert from 'node:assert/strict';
import type { StreamConfig } from '../../record/stream-config.ts';
import { allRuns, commitRuns, makeStream, PLAIN, reserveKey, sampleCommit, sampleRun } from './samples.ts';
import type { Bench } from './bench.ts';
import { withCode } from '../object-store-contract.ts';
import type { TestFunctions } from '../test-functions.ts';

const FULL: StreamConfig = {
  compression: 'none',
  retention: { maxBytes: 5, maxAge: 6 },
  cleanup: 'compact',
  deletionDeadline: 7,
};

export function streams(bench: () => Bench, { test }: TestFunctions): void {
  test('a stream is created once, and found by its name afterwards', async () => {
    const { coordinator } = bench();
    const { stream, created } = await coordinator.createStream('orders', FULL);
    assert.equal(created, true);
    assert.deepEqual(stream, { streamId: stream.streamId, name: 'orders', config: FULL });
    assert.ok(stream.streamId >= 1);
    assert.deepEqual(await coordinator.findStream('orders'), stream);
    assert.equal(await coordinator.findStream('order'), undefined);
  });

  test('creating an existing stream returns it with its own config', async () => {
    const { coordinator } = bench();
    const { stream } = await coordinator.createStream('orders', FULL);
    assert.deepEqual(await coordinator.createStream('orders', PLAIN), { stream, created: false });
  });

  test('creations of one name at the same time make one stream', async () => {
    const { coordinator } = bench();
    const answers = await Promise.all(Array.from({ length: 20 }, () => coordinator.createStream('orders', PLAIN)));
    assert.equal(answers.filter(({ created }) => created).length, 1);
    assert.equal(new Set(answers.map(({ stream }) => stream.streamId)).size, 1);
  });

  test('a config is replaced as a whole', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 'orders', FULL);
    const configured = await coordinator.configureStream(streamId, PLAIN);
    assert.deepEqual(configured, { streamId, name: 'orders', config: PLAIN });
    assert.deepEqual(await coordinator.findStream('orders'), configured);
  });

  test('streams are listed by ascending id, and survive reopening', async () => {
    const { coordinator, reopen } = bench();
    const ids: number[] = [];
    for (const name of ['c', 'a', 'ü/b', 'x'.repeat(255)]) ids.push(await makeStream(coordinator, name, FULL));
    const before = await coordinator.streams();
    assert.deepEqual(
      before.map(({ streamId }) => streamId),
      [...ids].sort((left, right) => left - right),
    );
    await reopen();
    assert.deepEqual(await bench().coordinator.streams(), before);
  });

  test('a deleted stream is gone with its runs, and its id is never used again', async () => {
    const { coordinator, reopen } = bench();
    const streamId = await makeStream(coordinator, 'orders');
    const key = await commitRuns(coordinator, [sampleRun(streamId, 0, 5)]);
    assert.equal(await coordinator.deleteStream(streamId), true);
    assert.equal(await coordinator.deleteStream(streamId), false);
    assert.equal(await coordinator.findStream('orders'), undefined);
    assert.deepEqual(await coordinator.classifyKeys([key]), ['deleting']);
    await reopen();
    const again = await makeStream(bench().coordinator, 'orders');
    assert.ok(again > streamId);
    assert.deepEqual(await allRuns(bench().coordinator, again), []);
  });

  test('a run of a stream that was deleted meanwhile becomes dead bytes', async () => {
    const { coordinator } = bench();
    const gone = await makeStream(coordinator, 'gone');
    const here = await makeStream(coordinator, 'here');
    await coordinator.deleteStream(gone);
    const key = await reserveKey(coordinator);
    const commit = sampleCommit(key, [sampleRun(gone, 7, 5), sampleRun(here, 0, 5)]);
    const runs = [
      { streamId: gone, firstOffset: undefined },
      { streamId: here, firstOffset: 0 },
    ];
    assert.deepEqual(await coordinator.commitObject(commit), { runs, replayed: false });
    assert.deepEqual(await coordinator.commitObject(commit), { runs, replayed: true });
    const [object] = await coordinator.listObjects({});
    assert.equal(object!.liveBytes, 100);
    assert.equal(object!.liveRuns, 1);
  });

  test('an object of deleted streams alone is deleting at once, and its commit still answers a replay', async () => {
    const { coordinator } = bench();
    const gone = await makeStream(coordinator, 'gone');
    await coordinator.deleteStream(gone);
    const key = await reserveKey(coordinator);
    const commit = sampleCommit(key, [sampleRun(gone, 0, 5)]);
    await coordinator.commitObject(commit);
    assert.deepEqual(await coordinator.classifyKeys([key]), ['deleting']);
    assert.equal((await coordinator.commitObject(commit)).replayed, true);
  });

  test('questions about a stream that does not exist are refused', async () => {
    const { coordinator } = bench();
    const notFound = withCode('ERR_MILLRACE_STREAM_NOT_FOUND');
    await assert.rejects(coordinator.configureStream(99, PLAIN), notFound);
    await assert.rejects(coordinator.findRuns(99, 0, { maxRuns: 1, maxBytes: 1 }), notFound);
    await assert.rejects(coordinator.findTrackingRuns(99), notFound);
    await assert.rejects(coordinator.listOffsets(99, 0), notFound);
    await assert.rejects(coordinator.streamTotals(99), notFound);
    await assert.rejects(coordinator.trim(99, 0), notFound);
    await assert.rejects(coordinator.enforceRetention(99), notFound);
    await assert.rejects(coordinator.truncateStream({ streamId: 99, nextOffset: 0, epoch: 1 }), notFound);
    const key = await reserveKey(coordinator);
    await assert.rejects(coordinator.commitObject(sampleCommit(key, [sampleRun(99, 0, 1)])), notFound);
    assert.deepEqual(await coordinator.classifyKeys([key]), ['reserved']);
  });

  for (const name of ['', 'x'.repeat(256), 'é'.repeat(128), '\ud800']) {
    test(`a name of ${name.length} characters that cannot be stored exactly is refused`, async () => {
      await assert.rejects(bench().coordinator.createStream(name, PLAIN), withCode('ERR_MILLRACE_INVALID_STREAM_NAME'));
    });
  }

  test('a config that cannot be stored is refused', async () => {
    const { coordinator } = bench();
    const bad: Partial<Record<keyof StreamConfig, unknown>>[] = [
      { compression: 'zip' },
      { cleanup: 'burn' },
      { retention: { maxBytes: -1 } },
      { retention: { maxAge: 0.5 } },
      { deletionDeadline: 0 },
    ];
    for (const part of bad) {
      const config = { ...PLAIN, ...part } as StreamConfig;
      await assert.rejects(coordinator.createStream('bad', config), withCode('ERR_MILLRACE_INVALID_ARGUMENT'));
    }
    assert.deepEqual(await coordinator.streams(), []);
  });
}
