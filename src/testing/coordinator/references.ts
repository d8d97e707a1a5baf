/** Consumers and publishers of stores whose logs carry no tracking. */
import assert from 'node:assert/strict';
import { PUBLISHERS_MAX, REFERENCES_MAX } from '../../limits/limits.ts';
import type { CommitAnswer, Coordinator, PublisherClaim } from '../../coordinator/coordinator.ts';
import { commitRuns, makeStream, reserveKey, sampleCommit, sampleRun } from './samples.ts';
import type { Bench } from './bench.ts';
import type { TestFunctions } from '../test-functions.ts';

function claim(
  reference: string,
  previousId: number | undefined,
  publishingId: number,
  offset: number,
): PublisherClaim {
  return { reference, previousId, publishingId, offset };
}

/** Commits ten records that the coordinator places. */
async function publish(
  coordinator: Coordinator,
  streamId: number,
  ...publishers: readonly PublisherClaim[]
): Promise<CommitAnswer> {
  const key = await reserveKey(coordinator);
  return coordinator.commitObject(sampleCommit(key, [sampleRun(streamId, 0, 10, { publishers })], { relative: true }));
}

export function references(bench: () => Bench, { test }: TestFunctions): void {
  test('one consumer more than a stream may have is refused, until one goes', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 'read');
    await commitRuns(coordinator, [sampleRun(streamId, 0, 10)]);
    const names = Array.from({ length: REFERENCES_MAX }, (_, index) => `reader-${index}`);
    await coordinator.storeOffsets(streamId, new Map(names.map((name) => [name, 1])));
    const tooMany = { code: 'ERR_MILLRACE_TOO_MANY_REFERENCES' };
    await assert.rejects(coordinator.storeOffsets(streamId, new Map([['one more', 1]])), tooMany);
    const swap = new Map<string, number | undefined>([
      ['one more', 1],
      ['reader-7', undefined],
    ]);
    await coordinator.storeOffsets(streamId, swap);
    const offsets = await coordinator.trackedOffsets(streamId);
    assert.deepEqual([offsets.size, offsets.get('one more'), offsets.has('reader-7')], [REFERENCES_MAX, 1, false]);
  });

  test('the publisher whose latest record lies lowest is forgotten when there is one too many', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 'written');
    const publishers = Array.from({ length: PUBLISHERS_MAX }, (_, index) => claim(`p${index}`, undefined, 1, index));
    const runs = [sampleRun(streamId, 0, PUBLISHERS_MAX, { publishers })];
    await coordinator.commitObject(sampleCommit(await reserveKey(coordinator), runs, { relative: true }));
    await publish(coordinator, streamId, claim('p0', 1, 2, 0));
    await publish(coordinator, streamId, claim('one more', undefined, 1, 9));
    assert.equal(await coordinator.publisherMark(streamId, 'p1'), undefined);
    assert.deepEqual(
      [await coordinator.publisherMark(streamId, 'p0'), await coordinator.publisherMark(streamId, 'p2')],
      [
        { publishingId: 2, offset: PUBLISHERS_MAX },
        { publishingId: 1, offset: 2 },
      ],
    );
    assert.deepEqual(await coordinator.verify(), []);
  });

  test('the store id is one of 16 bytes that stays the same', async () => {
    const { storeId } = bench().coordinator;
    assert.equal(storeId.length, 16);
    await bench().reopen();
    assert.deepEqual([...bench().coordinator.storeId], [...storeId]);
  });

  test('offsets of consumers are stored, replaced and forgotten, and survive a reopening', async () => {
    const streamId = await makeStream(bench().coordinator, 'read');
    await commitRuns(bench().coordinator, [sampleRun(streamId, 0, 10)]);
    await bench().coordinator.storeOffsets(
      streamId,
      new Map([
        ['a', 3],
        ['ü', 9],
        ['gone', 1],
      ]),
    );
    await bench().coordinator.storeOffsets(
      streamId,
      new Map<string, number | undefined>([
        ['a', 2],
        ['gone', undefined],
      ]),
    );
    await bench().reopen();
    assert.deepEqual(
      await bench().coordinator.trackedOffsets(streamId),
      new Map([
        ['a', 2],
        ['ü', 9],
      ]),
    );
    assert.deepEqual(await bench().coordinator.verify(), []);
  });

  test('an offset that holds no record yet is refused, and none of its call is stored', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 'read');
    await commitRuns(coordinator, [sampleRun(streamId, 0, 10)]);
    await assert.rejects(
      coordinator.storeOffsets(
        streamId,
        new Map([
          ['a', 1],
          ['b', 10],
        ]),
      ),
      {
        code: 'ERR_MILLRACE_OFFSET_OUT_OF_RANGE',
      },
    );
    for (const reference of ['', 'x'.repeat(256), 'a\0b', '\ud800']) {
      await assert.rejects(coordinator.storeOffsets(streamId, new Map([[reference, 1]])), {
        code: 'ERR_MILLRACE_INVALID_REFERENCE',
      });
    }
    assert.deepEqual(await coordinator.trackedOffsets(streamId), new Map());
  });

  test('consumers below the log start are gone', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 'read');
    await commitRuns(coordinator, [sampleRun(streamId, 0, 10)]);
    await coordinator.storeOffsets(
      streamId,
      new Map([
        ['slow', 3],
        ['fast', 8],
      ]),
    );
    await coordinator.trim(streamId, 5);
    assert.deepEqual(await coordinator.trackedOffsets(streamId), new Map([['fast', 8]]));
    await coordinator.storeOffsets(
      streamId,
      new Map([
        ['slow', 4],
        ['third', 5],
      ]),
    );
    assert.deepEqual(
      await coordinator.trackedOffsets(streamId),
      new Map([
        ['fast', 8],
        ['third', 5],
      ]),
    );
  });

  test('a stream takes its consumers and publishers with it', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 'read');
    await publish(coordinator, streamId, claim('p', undefined, 4, 9));
    await coordinator.storeOffsets(streamId, new Map([['a', 3]]));
    await coordinator.deleteStream(streamId);
    const missing = { code: 'ERR_MILLRACE_STREAM_NOT_FOUND' };
    await assert.rejects(coordinator.trackedOffsets(streamId), missing);
    await assert.rejects(coordinator.publisherMark(streamId, 'p'), missing);
    await assert.rejects(coordinator.storeOffsets(streamId, new Map([['a', 3]])), missing);
    assert.deepEqual(await coordinator.verify(), []);
  });

  test('a publisher moves with the run that holds its records', async () => {
    const streamId = await makeStream(bench().coordinator, 'written');
    assert.equal(await bench().coordinator.publisherMark(streamId, 'p'), undefined);
    await publish(bench().coordinator, streamId, claim('p', undefined, 0, 4), claim('q', undefined, 7, 9));
    await publish(bench().coordinator, streamId, claim('p', 0, 30, 2));
    await bench().reopen();
    assert.deepEqual(await bench().coordinator.publisherMark(streamId, 'p'), { publishingId: 30, offset: 12 });
    assert.deepEqual(await bench().coordinator.publisherMark(streamId, 'q'), { publishingId: 7, offset: 9 });
    assert.deepEqual(await bench().coordinator.verify(), []);
  });

  test('a run is refused alone when a publisher of its has moved on, also when it is committed again', async () => {
    const streamId = await makeStream(bench().coordinator, 'written');
    const other = await makeStream(bench().coordinator, 'other');
    await publish(bench().coordinator, streamId, claim('p', undefined, 5, 9));
    const publishers = [claim('fresh', undefined, 1, 0), claim('p', undefined, 6, 9)];
    const runs = [sampleRun(streamId, 0, 10, { publishers }), sampleRun(other, 0, 10)];
    const commit = sampleCommit(await reserveKey(bench().coordinator), runs, { relative: true });
    const answer = await bench().coordinator.commitObject(commit);
    assert.deepEqual(answer.runs, [
      { streamId, firstOffset: undefined, refused: true },
      { streamId: other, firstOffset: 0 },
    ]);
    await bench().reopen();
    assert.deepEqual(await bench().coordinator.commitObject(commit), { runs: answer.runs, replayed: true });
    assert.equal((await bench().coordinator.streamTotals(streamId)).nextOffset, 10);
    assert.equal(await bench().coordinator.publisherMark(streamId, 'fresh'), undefined);
    assert.deepEqual(await bench().coordinator.publisherMark(streamId, 'p'), { publishingId: 5, offset: 9 });
    assert.deepEqual(await bench().coordinator.verify(), []);
  });

  test('an object of which every run is refused is deleted', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 'written');
    const key = await reserveKey(coordinator);
    const runs = [sampleRun(streamId, 0, 10, { publishers: [claim('p', 3, 6, 9)] })];
    const { runs: answers } = await coordinator.commitObject(sampleCommit(key, runs, { relative: true }));
    assert.equal(answers[0]?.refused, true);
    assert.deepEqual(await coordinator.classifyKeys([key]), ['deleting']);
    assert.deepEqual(await coordinator.verify(), []);
  });

  for (const [who, previousId] of [
    ['behind', 4],
    ['ahead of', 6],
  ] as const) {
    test(`a claim from ${who} where its publisher is says that somebody else has published`, async () => {
      const { coordinator } = bench();
      const streamId = await makeStream(coordinator, 'written');
      await publish(coordinator, streamId, claim('p', undefined, 5, 9));
      const { runs } = await publish(coordinator, streamId, claim('p', previousId, 7, 0));
      assert.equal(runs[0]?.refused, true);
      assert.deepEqual(await coordinator.publisherMark(streamId, 'p'), { publishingId: 5, offset: 9 });
      assert.equal((await coordinator.streamTotals(streamId)).nextOffset, 10);
    });
  }

  test('claims that cannot be are refused before anything changes', async () => {
    const { coordinator } = bench();
    const streamId = await makeStream(coordinator, 'written');
    const invalid = { code: 'ERR_MILLRACE_INVALID_ARGUMENT' };
    await assert.rejects(publish(coordinator, streamId, claim('p', undefined, 5, 10)), invalid);
    await assert.rejects(publish(coordinator, streamId, claim('p', 5, 5, 0)), invalid);
    await assert.rejects(publish(coordinator, streamId, claim('p', undefined, -1, 0)), invalid);
    await assert.rejects(
      publish(coordinator, streamId, claim('p', undefined, 1, 0), claim('p', undefined, 2, 1)),
      invalid,
    );
    await assert.rejects(publish(coordinator, streamId, claim('', undefined, 1, 0)), {
      code: 'ERR_MILLRACE_INVALID_REFERENCE',
    });
    assert.equal((await coordinator.streamTotals(streamId)).nextOffset, 0);
  });
}
