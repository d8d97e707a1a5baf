import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { AssertionError } from '../../src/base/assert.ts';
import { PAGE_BYTES } from '../../src/base/bytes.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { CODEC } from '../../src/codec/compression.ts';
import { KIB, MIB } from '../../src/limits/limits.ts';
import { CHUNK_HEADER_BYTES, CHUNK_TYPE } from '../../src/segment/chunk-format.ts';
import { chunkBody, chunkTracking, decodeChunk, readStoredChunk } from '../../src/segment/chunk-reader.ts';
import { SEGMENT_HEADER_BYTES } from '../../src/segment/format.ts';
import { OUTPUT_BUFFER_BYTES } from '../../src/segment/paged-output.ts';
import { SegmentReader } from '../../src/segment/reader.ts';
import { SegmentWriter } from '../../src/segment/writer.ts';
import {
  EXPECTED,
  FACTS,
  MemorySink,
  MemorySource,
  recordsChunk,
  text,
  trackingChunk,
  writeSegment,
} from './fixture.ts';

/** Bytes that LZ4 cannot make smaller. */
function noise(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = 7;
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}

const PLACE = { objectKey: FACTS.objectKey, position: SEGMENT_HEADER_BYTES };

describe('the segment writer', () => {
  before(loadChecksum);

  it('writes whole pages from page-aligned memory, a buffer at a time', async () => {
    const { sink, bytes, content } = await writeSegment(async (writer) => {
      writer.beginRun(1, 0);
      for (let index = 0; index < 20; index += 1) {
        await writer.addChunk(recordsChunk(1, index, [noise(250 * KIB)], { compression: 'none' }));
      }
      writer.endRun();
    });
    assert.equal(bytes, content.length);
    assert.equal(bytes % PAGE_BYTES, 0);
    assert.equal(sink.writes.length, Math.ceil(bytes / OUTPUT_BUFFER_BYTES));
    assert.ok(sink.writes.slice(0, -1).every((length) => length === OUTPUT_BUFFER_BYTES));
  });

  it('says beforehand how large the segment will be', async () => {
    const sink = new MemorySink();
    const writer = new SegmentWriter(sink, FACTS);
    for (let stream = 1; stream <= 100; stream += 1) {
      writer.beginRun(stream, 0);
      await writer.addChunk(recordsChunk(stream, 0, [noise(stream)]));
      writer.endRun();
    }
    const foretold = writer.bytes;
    assert.equal(writer.runs, 100);
    assert.equal(writer.chunks, 100);
    assert.equal((await writer.finish()).bytes, foretold);
  });

  it('keeps the input as it is where compression makes it hardly smaller', async () => {
    const { content } = await writeSegment(async (writer) => {
      writer.beginRun(1, 0);
      await writer.addChunk(recordsChunk(1, 0, [noise(1000)]));
      await writer.addChunk(recordsChunk(1, 1, [new Uint8Array(1000)]));
      writer.endRun();
    });
    const plain = readStoredChunk(content, SEGMENT_HEADER_BYTES, PLACE);
    assert.equal(plain.header.codec, CODEC.none);
    const packed = readStoredChunk(content, SEGMENT_HEADER_BYTES + plain.bytes.length, PLACE);
    assert.equal(packed.header.codec, CODEC.lz4);
    assert.ok(packed.header.storedBytes < 100);
    assert.equal(chunkBody(packed).length, packed.header.rawBytes);
  });

  it('writes chunks larger than its buffers, from memory that others compress into meanwhile', async () => {
    const value = new Uint8Array(9 * MIB);
    for (let at = 0; at < value.length; at += 3 * KIB) value.set(noise(KIB), at);
    const build = (): ReturnType<typeof writeSegment> =>
      writeSegment(async (writer) => {
        writer.beginRun(1, 0);
        await writer.addChunk(recordsChunk(1, 0, [value], { trailer: text('behind it') }));
        await writer.addChunk(recordsChunk(1, 1, [noise(3 * MIB)]));
        writer.endRun();
      });
    const [first, second] = await Promise.all([build(), build()]);
    assert.equal(Buffer.compare(first.content, second.content), 0);
    const { body, trailer } = decodeChunk(first.content, SEGMENT_HEADER_BYTES, PLACE);
    assert.equal(Buffer.compare(body, recordsChunk(1, 0, [value]).body), 0);
    assert.equal(Buffer.from(trailer).toString(), 'behind it');
  });

  it('takes bodies from shared memory', async () => {
    const { body } = recordsChunk(1, 0, [text('shared '.repeat(20))]);
    const shared = new Uint8Array(new SharedArrayBuffer(body.length + 64), 64, body.length);
    shared.set(body);
    for (const compression of ['lz4', 'none'] as const) {
      const { content } = await writeSegment(async (writer) => {
        writer.beginRun(1, 0);
        await writer.addChunk(recordsChunk(1, 0, [text('shared '.repeat(20))], { body: shared, compression }));
        writer.endRun();
      });
      const decoded = decodeChunk(content, SEGMENT_HEADER_BYTES, PLACE);
      assert.deepEqual(new Uint8Array(decoded.body), body);
    }
  });

  it('counts what each run holds', async () => {
    const { runs } = await writeSegment(async (writer) => {
      writer.beginRun(4, 10);
      await writer.addChunk(trackingChunk(10, text('snap'), { type: CHUNK_TYPE.trackingSnapshot, epoch: 2 }));
      await writer.addChunk(
        recordsChunk(4, 10, [text('abc'), text('de')], {
          firstTimestamp: -7,
          lastTimestamp: 9,
          epoch: 3,
          offsetSpan: 5,
          trailer: text('0123456789'),
        }),
      );
      writer.endRun({ records: 1, tracking: 2 });
    });
    assert.deepEqual(runs, [
      {
        streamId: 4,
        firstOffset: 10,
        nextOffset: 15,
        records: 2,
        userBytes: 5,
        trackingBytes: CHUNK_HEADER_BYTES + 8 + 10,
        firstTimestamp: -7,
        lastTimestamp: 9,
        epoch: 3,
        byteOffset: SEGMENT_HEADER_BYTES,
        byteLength: runs[0]?.byteLength,
        chunks: 2,
        relative: false,
        dead: { records: 1, tracking: 2 },
        firstChunk: 0,
      },
    ]);
  });

  it('hands out tracking wherever its chunk keeps it', async () => {
    const { content } = await writeSegment(async (writer) => {
      writer.beginRun(4, 0);
      await writer.addChunk(trackingChunk(0, text('delta '.repeat(30))));
      await writer.addChunk(recordsChunk(4, 0, [text('x')], { trailer: text('trailer') }));
      await writer.addChunk(recordsChunk(4, 1, [text('x')]));
      writer.endRun();
    });
    const reader = await SegmentReader.open(new MemorySource(content), EXPECTED);
    const tracking = await Promise.all([0, 1, 2].map(async (index) => chunkTracking(await reader.chunk(index))));
    assert.deepEqual(
      tracking.map((bytes) => Buffer.from(bytes).toString()),
      ['delta '.repeat(30), 'trailer', ''],
    );
  });

  it('writes an empty segment that opens', async () => {
    const { content, bytes } = await writeSegment(async () => undefined);
    assert.equal(bytes, PAGE_BYTES);
    const reader = await SegmentReader.open(new MemorySource(content), EXPECTED);
    assert.equal(reader.footer.runs, 0);
    assert.equal(reader.footer.findRun(1), undefined);
  });
});

describe('the segment writer refuses', () => {
  before(loadChecksum);

  const refusals: readonly (readonly [name: string, misuse: (writer: SegmentWriter) => Promise<unknown>])[] = [
    ['a chunk outside a run', (writer) => writer.addChunk(recordsChunk(1, 0, [text('x')]))],
    [
      'a run without chunks',
      async (writer) => {
        writer.beginRun(1, 0);
        writer.endRun();
      },
    ],
    [
      'to finish inside a run',
      async (writer) => {
        writer.beginRun(1, 0);
        await writer.finish();
      },
    ],
    [
      'a gap in a run',
      async (writer) => {
        writer.beginRun(1, 0);
        await writer.addChunk(recordsChunk(1, 1, [text('x')]));
      },
    ],
    [
      'streams that go back',
      async (writer) => {
        await addRun(writer, 5, 0);
        writer.beginRun(4, 0);
      },
    ],
    [
      'offsets that go back',
      async (writer) => {
        await addRun(writer, 5, 7);
        writer.beginRun(5, 7);
      },
    ],
    [
      'a second relative run of a stream',
      async (writer) => {
        await addRun(writer, 5, 0, true);
        writer.beginRun(5, 0, { relative: true });
      },
    ],
    ['a relative run that does not count from 0', async (writer) => writer.beginRun(5, 1, { relative: true })],
    [
      'offsets in a tracking chunk',
      async (writer) => {
        writer.beginRun(1, 0);
        await writer.addChunk(trackingChunk(0, text('x'), { offsetSpan: 1 }));
      },
    ],
    [
      'more records than offsets',
      async (writer) => {
        writer.beginRun(1, 0);
        await writer.addChunk(recordsChunk(1, 0, [text('x'), text('y')], { offsetSpan: 1 }));
      },
    ],
    [
      'a second call before the first has ended',
      async (writer) => {
        writer.beginRun(1, 0);
        const large = [noise(3 * OUTPUT_BUFFER_BYTES)];
        await Promise.all([0, 1].map((offset) => writer.addChunk(recordsChunk(1, offset, large))));
      },
    ],
  ];
  for (const [name, misuse] of refusals) {
    it(name, async () => {
      const sink = new MemorySink();
      const writer = new SegmentWriter(sink, FACTS);
      await assert.rejects(misuse(writer), AssertionError);
      await writer.abort();
      assert.equal(sink.state, 'aborted');
    });
  }

  async function addRun(writer: SegmentWriter, streamId: number, offset: number, relative = false): Promise<void> {
    writer.beginRun(streamId, offset, { relative });
    await writer.addChunk(recordsChunk(streamId, offset, [text('x')]));
    writer.endRun();
  }
});

describe('a failed write of a segment', () => {
  before(loadChecksum);

  it('reaches the caller, whichever write it is, and leaves nothing behind', async () => {
    for (let failAt = 0; failAt < 5; failAt += 1) {
      const sink = new MemorySink();
      sink.failAt = failAt;
      const writer = new SegmentWriter(sink, FACTS);
      const fill = async (): Promise<unknown> => {
        writer.beginRun(1, 0);
        for (let index = 0; index < 18; index += 1) {
          await writer.addChunk(recordsChunk(1, index, [noise(250 * KIB)]));
        }
        writer.endRun();
        return writer.finish();
      };
      await assert.rejects(fill(), /the disk is gone/);
      assert.equal(sink.writes.length, failAt);
      await writer.abort();
      await writer.abort();
      assert.equal(sink.state, 'aborted');
      await assert.rejects(writer.finish(), AssertionError);
    }
  });

  it('waits for the write in flight before it aborts, because the buffer is used again', async () => {
    const sink = new MemorySink();
    let release = (): void => undefined;
    sink.delay = () => new Promise((resolve) => (release = resolve));
    const writer = new SegmentWriter(sink, FACTS);
    writer.beginRun(1, 0);
    await writer.addChunk(recordsChunk(1, 0, [noise(OUTPUT_BUFFER_BYTES)], { compression: 'none' }));
    const aborted = writer.abort();
    assert.equal(sink.state, 'open');
    release();
    await aborted;
    assert.equal(sink.state, 'aborted');
    assert.deepEqual(sink.writes, [OUTPUT_BUFFER_BYTES]);
  });
});

describe('an abort while the object is being committed', () => {
  before(loadChecksum);

  it('leaves the memory of the writer to one other writer', async () => {
    const sink = new MemorySink();
    let commit = (): void => undefined;
    sink.commit = async () => {
      await new Promise<void>((resolve) => (commit = resolve));
      return sink.bytes.length;
    };
    const writer = new SegmentWriter(sink, FACTS);
    const finished = writer.finish();
    await setImmediate();
    await writer.abort();
    commit();
    await finished;
    const [first, second] = [1, 2].map(() => new SegmentWriter(new MemorySink(), FACTS));
    assert.notEqual(first?.memory, second?.memory);
    await Promise.all([first?.abort(), second?.abort()]);
  });
});
