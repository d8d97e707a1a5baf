import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { LoopShare } from '../../src/base/loop-share.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import type { FoundRun } from '../../src/coordinator/coordinator.ts';
import type { StreamDescription } from '../../src/record/stream-config.ts';
import { Stream, type StreamContext } from '../../src/stream/stream.ts';
import { newStream } from '../support/stream-state.ts';
import { storedRun, STREAM_ID } from './stored-run.ts';

before(loadChecksum);

interface World {
  readonly stream: Stream;
  readonly refreshes: () => number;
}

/** A stream whose object was replaced: the coordinator says so after `needed` refreshes. */
async function replacedWorld(needed: number): Promise<World> {
  const { segments, run } = await storedRun(2);
  let refreshes = 0;
  const current = (): FoundRun => (refreshes < needed ? { ...run, objectKey: 'segments/00/0000000000000000' } : run);
  const context = {
    segments,
    coordinator: {
      findRuns: () => Promise.resolve({ firstOffset: 0, nextOffset: 2, runs: [current()] }),
      refresh: async () => {
        refreshes += 1;
      },
    },
    unflushed: {
      firstOffset: () => undefined,
      segmentLimit: () => Infinity,
      truncations: () => ({ count: 0, lowest: Infinity }),
      read: () => undefined,
    },
    loopShare: new LoopShare(),
    progress: { wait: () => Promise.resolve(), notify: () => undefined },
    assignsOffsets: false,
    durableNextOffset: () => 2,
    check: () => undefined,
  } as unknown as StreamContext;
  const description = { streamId: STREAM_ID, name: 'a' } as StreamDescription;
  return { stream: new Stream(description, newStream(STREAM_ID), context, undefined), refreshes: () => refreshes };
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
