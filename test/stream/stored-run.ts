/** One run of a few chunks in an object in memory, for the tests that read segments without a store around them. */
import type { FoundRun } from '../../src/coordinator/coordinator.ts';
import { MillraceError } from '../../src/errors/millrace-error.ts';
import type { ObjectStore } from '../../src/object/object-store.ts';
import { SegmentAccess } from '../../src/stream/segment-access.ts';
import { FACTS, recordsChunk, text, writeSegment } from '../segment/fixture.ts';

export const STREAM_ID = 1;

export interface StoredRun {
  readonly segments: SegmentAccess;
  /** The run, with its one object under the key that it was written to. */
  readonly run: FoundRun;
  /** Ranges read so far. */
  readonly reads: () => number;
}

/** Two chunks of one record each, at the offsets 0 and 1. `cachedChunks`: so many fit the cache. */
export async function storedRun(cachedChunks: number): Promise<StoredRun> {
  const chunks = ['a', 'b'].map((value, offset) => recordsChunk(STREAM_ID, offset, [text(value)]));
  const { content, runs } = await writeSegment(async (writer) => {
    writer.beginRun(STREAM_ID, 0);
    for (const chunk of chunks) await writer.addChunk(chunk);
    writer.endRun();
  });
  let reads = 0;
  const objects: Pick<ObjectStore, 'read' | 'size'> = {
    async read(key, position, length) {
      if (key !== FACTS.objectKey) throw new MillraceError('ERR_MILLRACE_OBJECT_NOT_FOUND', `${key}: gone`);
      reads += 1;
      return new Uint8Array(content.subarray(position, position + length));
    },
    size: (key) => Promise.resolve(key === FACTS.objectKey ? content.length : undefined),
  };
  const chunkBytes = chunks[0]?.body.length ?? 0;
  const segments = new SegmentAccess(objects as ObjectStore, FACTS.storeId, cachedChunks * chunkBytes);
  const run = { ...runs[0], objectKey: FACTS.objectKey, endOffset: 2, trackingSnapshot: false } as unknown as FoundRun;
  return { segments, run, reads: () => reads };
}
