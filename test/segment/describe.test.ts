import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { describeChunk, describeSegment } from '../../src/segment/describe.ts';
import { SegmentReader } from '../../src/segment/reader.ts';
import { EXPECTED, FACTS, MemorySource, smallSegment } from './fixture.ts';

describe('the description of a segment', () => {
  before(loadChecksum);

  it('holds what the footer says, as plain data', async () => {
    const content = await smallSegment();
    const { footer } = await SegmentReader.open(new MemorySource(content), EXPECTED);
    const description = describeSegment(FACTS.objectKey, footer);
    assert.deepEqual(JSON.parse(JSON.stringify(description)), description);
    assert.equal(description.storeId, Buffer.from(FACTS.storeId).toString('hex'));
    assert.equal(description.createdAt, FACTS.createdAt);
    const runs = description.runs.map((run) => [
      run.streamId,
      run.firstOffset,
      run.nextOffset,
      run.records,
      run.chunks,
    ]);
    assert.deepEqual(runs, [
      [3, 100, 103, 3, 3],
      [3, 200, 201, 1, 1],
      [9, 0, 0, 0, 1],
    ]);
  });

  it('holds what each chunk says, as plain data', async () => {
    const reader = await SegmentReader.open(new MemorySource(await smallSegment()), EXPECTED);
    const chunks = await Promise.all([0, 1, 2, 3, 4].map(async (index) => describeChunk(await reader.chunk(index))));
    assert.deepEqual(JSON.parse(JSON.stringify(chunks)), chunks);
    assert.deepEqual(
      chunks.map(({ type }) => type),
      ['trackingSnapshot', 'records', 'records', 'records', 'trackingDelta'],
    );
    assert.deepEqual(
      chunks.map(({ codec }) => codec),
      ['none', 'lz4', 'lz4', 'none', 'none'],
    );
    assert.deepEqual(
      chunks.map(({ firstOffset, nextOffset }) => [firstOffset, nextOffset]),
      [
        [100, 100],
        [100, 102],
        [102, 103],
        [200, 201],
        [0, 0],
      ],
    );
    assert.deepEqual(
      chunks.map(({ trackingBytes }) => trackingBytes),
      [96, 0, 1, 0, 96],
    );
  });
});
