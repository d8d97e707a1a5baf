/** What a copy is made of: only the segment that the manifest names, and all of it sound. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { checksumText, type CopyJob, runCopyJob } from '../../src/backup/copy-job.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { MemoryObjectStore } from '../../src/object/memory-object-store.ts';
import { SegmentReader } from '../../src/segment/reader.ts';
import { putObject, withCode } from '../../src/testing/object-store-contract.ts';
import { EXPECTED, FACTS, MemorySource, recordsChunk, text, writeSegment } from '../segment/fixture.ts';

const NOWHERE = { module: 'none', options: {} };
const { storeId, objectKey: key } = FACTS;

before(loadChecksum);

async function segmentOf(value: string): Promise<Buffer> {
  const { content } = await writeSegment(async (writer) => {
    writer.beginRun(1, 0);
    await writer.addChunk(recordsChunk(1, 0, [text(value)]));
    writer.endRun();
  });
  return content;
}

async function jobFor(named: Buffer): Promise<CopyJob> {
  const { checksum } = (await SegmentReader.open(new MemorySource(named), EXPECTED)).footer;
  return {
    type: 'copy',
    from: NOWHERE,
    to: NOWHERE,
    key,
    bytes: named.length,
    checksum: checksumText(checksum),
    storeId,
  };
}

/** Copies what lies under the key, as the segment that is named, and returns the copy. */
async function copy(named: Buffer, lying: Buffer): Promise<Buffer | undefined> {
  const [from, to] = [new MemoryObjectStore(), new MemoryObjectStore()];
  await putObject(from, key, lying);
  const job = await jobFor(named);
  try {
    await runCopyJob(job, from, to);
    return Buffer.from(await to.read(key, 0, job.bytes));
  } finally {
    if ((await to.size(key)) !== undefined) assert.deepEqual(lying, named, 'a copy of something else');
  }
}

test('a segment is copied byte by byte', async () => {
  const segment = await segmentOf('a sack of flour');
  assert.deepEqual(await copy(segment, segment), segment);
});

test('a sound segment of another time, or a damaged one, under the same key is no copy of it', async () => {
  const named = await segmentOf('new');
  const damaged = Buffer.from(named);
  damaged.writeUint8(damaged.readUint8(100) ^ 1, 100);
  for (const lying of [await segmentOf('old'), damaged]) {
    await assert.rejects(copy(named, lying), withCode('ERR_MILLRACE_SEGMENT_CORRUPT'));
  }
});
