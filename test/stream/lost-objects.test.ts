import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { LoopShare } from '../../src/base/loop-share.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import type { FoundRun, FoundRuns } from '../../src/coordinator/coordinator.ts';
import type { StreamDescription } from '../../src/record/stream-config.ts';
import { Removals } from '../../src/stream/removals.ts';
import { Stream, type StreamContext } from '../../src/stream/stream.ts';
import { newStream } from '../support/stream-state.ts';
import { storedRun, STREAM_ID } from './stored-run.ts';

before(loadChecksum);

interface World {
  readonly stream: Stream;
  readonly refreshes: () => number;
}

const GONE = 'segments/00/0000000000000000';

/** A stream of which the coordinator says what `found` gives for so many refreshes. */
async function world(found: (run: FoundRun, refreshes: number) => Omit<FoundRuns, 'epoch'>): Promise<World> {
  const { segments, run } = await storedRun(2);
  let refreshes = 0;
  const context = {
    segments,
    coordinator: {
      findRuns: () => Promise.resolve(found(run, refreshes)),
      refresh: async () => {
        refreshes += 1;
      },
    },
    unflushed: {
      firstOffset: () => undefined,
      voidFrom: () => Infinity,
      truncations: () => ({ count: 0, lowest: Infinity }),
      read: () => undefined,
    },
    removals: new Removals(),
    loopShare: new LoopShare(),
    assignsOffsets: false,
    durableNextOffset: () => 2,
    check: () => undefined,
  } as unknown as StreamContext;
  const description = { streamId: STREAM_ID, name: 'a' } as StreamDescription;
  return { stream: new Stream(description, newStream(STREAM_ID), context, undefined), refreshes: () => refreshes };
}

/** Its object was replaced: the coordinator says so after `needed` refreshes. */
function replacedWorld(needed: number): Promise<World> {
  return world((run, refreshes) => {
    const runs = [refreshes < needed ? { ...run, objectKey: GONE } : run];
    return { firstOffset: 0, nextOffset: 2, runs };
  });
}

async function firstOf(stream: Stream): Promise<string | undefined> {
  for await (const { value } of stream.read({ from: 0 })) return value?.toString();
  return undefined;
}

const READS: readonly [string, (stream: Stream) => Promise<string | undefined>][] = [
  ['a point read', async (stream) => (await stream.get(0))?.value?.toString()],
  ['a scan', firstOf],
];

for (const [name, read] of READS) {
  test(`${name} follows an object that was replaced to its replacement`, async () => {
    const { stream, refreshes } = await replacedWorld(2);
    assert.equal(await read(stream), 'a');
    assert.equal(refreshes(), 2);
  });

  test(`${name} gives up on an object that stays gone`, async () => {
    const { stream, refreshes } = await replacedWorld(Infinity);
    await assert.rejects(read(stream), { code: 'ERR_MILLRACE_OBJECT_NOT_FOUND' });
    assert.equal(refreshes(), 5);
  });
}

test('whoever starts where the stream does, and has passed only offsets without records, starts there anew', async () => {
  const { stream, refreshes } = await world((run, refreshed) => {
    if (refreshed > 0) return { firstOffset: 10, nextOffset: 10, runs: [] };
    const behind = { ...run, objectKey: GONE, firstOffset: 5, endOffset: 10 };
    return { firstOffset: 2, nextOffset: 10, runs: [{ ...run, endOffset: 5 }, behind] };
  });
  const values: unknown[] = [];
  for await (const { value } of stream.read({ from: 'first' })) values.push(value);
  assert.deepEqual(values, []);
  assert.equal(refreshes(), 1);
});
