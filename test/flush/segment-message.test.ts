import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { FlushedSegment } from '../../src/flush/flush-job.ts';
import { packSegment, unpackSegment } from '../../src/flush/segment-message.ts';

const natural = fc.maxSafeNat();
const run = fc.record(
  {
    streamId: natural,
    firstOffset: natural,
    nextOffset: natural,
    records: natural,
    userBytes: natural,
    trackingBytes: natural,
    firstTimestamp: fc.maxSafeInteger(),
    lastTimestamp: fc.maxSafeInteger(),
    epoch: natural,
    byteOffset: natural,
    byteLength: natural,
    chunks: natural,
    trackingSnapshot: fc.boolean(),
    localOffset: natural,
  },
  { noNullPrototype: true },
);

test('a flushed segment comes out of its message as it went in', () => {
  fc.assert(
    fc.property(fc.array(run), (runs) => {
      const truncations = [{ streamId: 3, nextOffset: 7, epoch: 1 }];
      const segment: FlushedSegment = { objectKey: 'key', bytes: 4096, checksum: '0'.repeat(16), runs, truncations };
      assert.deepEqual(unpackSegment(structuredClone(packSegment(segment))), segment);
    }),
  );
});
