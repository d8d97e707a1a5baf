import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { FRAME_BYTES_TARGET, MIB } from '../../src/limits/limits.ts';
import { Memtable } from '../../src/memtable/memtable.ts';
import { allocateDoorbell, Doorbell } from '../../src/ring/doorbell.ts';
import { allocateRing, logPosition, type RingGeometry } from '../../src/ring/geometry.ts';
import { RingProducer } from '../../src/ring/producer.ts';
import { FRAME_KIND } from '../../src/record/frame-format.ts';
import { type FrameHeader, walkFrames } from '../../src/record/frame-reader.ts';
import { RecordBatch } from '../../src/record/record-batch.ts';
import { type RecordValue, valueRoom } from '../../src/record/record-input.ts';
import { FrameAppender, type PublisherTag, type WritableStreamState } from '../../src/stream/frame-appender.ts';
import { RingConsumer } from '../support/ring-consumer.ts';
import { newStream } from '../support/stream-state.ts';

const BIRTH = { slotSequence: 0, blockSequence: 0 };
const NOW = 1_700_000_000_000;

let producer: RingProducer;
let consumer: RingConsumer;
let memtable: Memtable;
let appender: FrameAppender;

function open(geometry: RingGeometry): void {
  const ring = allocateRing(geometry);
  const identity = { lane: 0, storeId: new Uint8Array(16) };
  producer = new RingProducer(ring, geometry, identity, BIRTH, -1, new Doorbell(allocateDoorbell()), {
    closing: () => {
      appender.finish();
    },
    closed: () => undefined,
    sealed: () => undefined,
  });
  producer.words.reset(0);
  consumer = new RingConsumer(ring, geometry, BIRTH);
  memtable = new Memtable(ring, geometry);
  appender = new FrameAppender(ring, producer, memtable);
}

function append(
  stream: WritableStreamState,
  value: RecordValue,
  timestamp: number = NOW,
  publisher?: PublisherTag,
): boolean {
  return appender.append(stream, null, value, valueRoom(value), timestamp, publisher);
}

interface WrittenFrame {
  readonly header: FrameHeader;
  readonly values: string[];
}

/** Closes the open block and reads the frames of the next one that was closed. */
function closedFrames(): WrittenFrame[] {
  producer.closeBlock();
  const block = consumer.take();
  assert.ok(block !== undefined, 'a block was closed');
  const { payload } = block;
  const frames: WrittenFrame[] = [];
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const fail = (problem: string): never => assert.fail(problem);
  walkFrames(view, 0, payload.length, fail, (header, at) => {
    const bytes = payload.slice(at, at + header.frameBytes);
    const batch = RecordBatch.decode(bytes, { name: 'block', baseOffset: 0 }, 0, Infinity);
    frames.push({ header, values: [...batch].map(({ value }) => String(value)) });
  });
  return frames;
}

describe('an appender of frames', () => {
  beforeEach(() => {
    open({ slots: 2, slotBytes: MIB });
  });

  it('puts consecutive records of a stream into one frame', () => {
    const stream = newStream(1);
    for (const value of ['a', 'b', null, '']) append(stream, value);
    const [frame, ...others] = closedFrames();
    assert.deepEqual(others, []);
    assert.deepEqual(frame?.values, ['a', 'b', 'null', '']);
    const { streamId, firstOffset, timestamp, recordCount, offsetSpan, userBytes, kind } = frame.header;
    assert.deepEqual(
      { streamId, firstOffset, timestamp, recordCount, offsetSpan, userBytes, kind },
      {
        streamId: 1,
        firstOffset: 0,
        timestamp: NOW,
        recordCount: 4,
        offsetSpan: 4,
        userBytes: 2,
        kind: FRAME_KIND.records,
      },
    );
    assert.deepEqual([stream.nextOffset, stream.userBytes], [4, 2]);
  });

  it('starts a frame for another stream, and again for the first', () => {
    const [first, second] = [newStream(1), newStream(2)];
    for (const stream of [first, first, second, first]) append(stream, 'x');
    assert.deepEqual(
      closedFrames().map(({ header }) => [header.streamId, header.firstOffset, header.recordCount]),
      [
        [1, 0, 2],
        [2, 0, 1],
        [1, 2, 1],
      ],
    );
  });

  it('starts a frame for a timestamp that is too far away, and keeps every timestamp', () => {
    const stream = newStream(1);
    const far = 2 ** 31 - 1;
    for (const timestamp of [NOW, NOW + far, NOW - far, NOW + far + 1, NOW - 2 ** 52]) append(stream, 'x', timestamp);
    assert.deepEqual(
      closedFrames().map(({ header }) => [header.timestamp, header.recordCount]),
      [
        [NOW, 3],
        [NOW + far + 1, 1],
        [NOW - 2 ** 52, 1],
      ],
    );
  });

  it('starts a frame when one is full, and lets a larger record have its own', () => {
    const stream = newStream(1);
    for (let count = 0; count < 100; count += 1) append(stream, 'v'.repeat(5_000));
    append(stream, 'w'.repeat(2 * FRAME_BYTES_TARGET));
    append(stream, 'x');
    const frames = closedFrames();
    assert.ok(frames.length > 3);
    assert.ok(frames.slice(0, -2).every(({ header }) => header.frameBytes <= FRAME_BYTES_TARGET));
    assert.ok(frames.slice(0, -3).every(({ header }) => header.frameBytes > FRAME_BYTES_TARGET - 5_100));
    assert.deepEqual(frames.at(-2)?.header.recordCount, 1);
    let next = 0;
    for (const { header } of frames) {
      assert.equal(header.firstOffset, next);
      next += header.offsetSpan;
    }
    assert.equal(next, 102);
  });

  it('goes on in the next block when one closes', () => {
    const stream = newStream(1);
    append(stream, 'a');
    assert.deepEqual(closedFrames()[0]?.values, ['a']);
    append(stream, 'b');
    const [frame] = closedFrames();
    assert.deepEqual([frame?.values, frame?.header.firstOffset], [['b'], 1]);
  });

  it('changes nothing when the ring is full', () => {
    open({ slots: 2, slotBytes: 64 * 1024 });
    const stream = newStream(1);
    while (append(stream, 'x'.repeat(20_000)));
    const { nextOffset, userBytes } = stream;
    assert.equal(nextOffset, 6);
    assert.equal(append(stream, 'x'.repeat(20_000)), false);
    assert.equal(append(newStream(2), 'another'), false);
    assert.deepEqual([stream.nextOffset, stream.userBytes], [nextOffset, userBytes]);
    assert.equal(memtable.streamCount, 1);
    producer.release(0);
    assert.equal(append(stream, 'again'), true);
    let records = 0;
    for (let block = consumer.take(); block !== undefined; block = consumer.take()) records += 1;
    assert.equal(records, 2, 'both full slots hold one block');
    assert.deepEqual(closedFrames()[0]?.header.firstOffset, 6);
  });

  it('writes text of any kind, in less room than it asked for', () => {
    const stream = newStream(1);
    const values = ['\u{1f600}'.repeat(500), 'é'.repeat(5_000), '\ud800', '\u{10ffff}'.repeat(3_000), ''];
    for (const value of values) append(stream, value);
    assert.deepEqual(
      closedFrames().flatMap((frame) => frame.values),
      values.map((value) => Buffer.from(value).toString()),
    );
    assert.equal(
      stream.userBytes,
      values.reduce((sum, value) => sum + Buffer.byteLength(value), 0),
    );
  });

  it('tells the memtable where each frame begins', () => {
    const stream = newStream(7);
    append(stream, 'a');
    closedFrames();
    assert.equal(memtable.firstOffset(7), 0);
    assert.equal(memtable.durableNextOffset(7, logPosition(1, 0)), 1);
  });

  it('writes the epoch that the stream has', () => {
    const stream = { ...newStream(1), epoch: 3 };
    append(stream, 'a');
    assert.equal(closedFrames()[0]?.header.epoch, 3);
  });

  it('starts a frame for another publisher, and for a record without one', () => {
    const stream = newStream(1);
    const one = { reference: Buffer.from('one'), publishingId: 5 };
    const two = { reference: Buffer.from('two'), publishingId: 9 };
    for (const publisher of [one, one, two, undefined]) append(stream, 'x', NOW, publisher);
    const frames = closedFrames();
    assert.deepEqual(
      frames.map(({ header }) => header.recordCount),
      [2, 1, 1],
    );
    assert.deepEqual(
      frames.map(({ header }) => header.extensionBytes > 0),
      [true, true, false],
    );
    assert.deepEqual(
      frames.flatMap(({ values }) => values),
      ['x', 'x', 'x', 'x'],
    );
  });

  it('writes frames without records between those with records', () => {
    const stream = newStream(1);
    append(stream, 'a');
    assert.ok(appender.appendControl(stream, FRAME_KIND.tracking, stream.nextOffset, 0, Buffer.from('hello')));
    append(stream, 'b');
    assert.deepEqual(
      closedFrames().map(({ header }) => [header.kind, header.firstOffset, header.offsetSpan, header.frameBytes % 8]),
      [
        [FRAME_KIND.records, 0, 1, 0],
        [FRAME_KIND.tracking, 1, 0, 0],
        [FRAME_KIND.records, 1, 1, 0],
      ],
    );
  });
});
