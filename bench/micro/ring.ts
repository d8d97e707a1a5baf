/** Putting records into the ring and finding them there. */
import { CONTROL_BYTES, allocateRing, logPosition, type RingGeometry } from '../../src/ring/geometry.ts';
import { allocateDoorbell, Doorbell } from '../../src/ring/doorbell.ts';
import { type SealedSlot, RingProducer } from '../../src/ring/producer.ts';
import { SLOT_BYTES_DEFAULT, SLOTS_DEFAULT } from '../../src/limits/limits.ts';
import { Memtable } from '../../src/memtable/memtable.ts';
import { StreamIndex } from '../../src/memtable/stream-index.ts';
import { FrameAppender, type WritableStreamState } from '../../src/stream/frame-appender.ts';
import type { Workload } from '../workload.ts';
import { recordPool } from '../../src/cli/load/records.ts';
import { micro, type MicroSides } from './micro.ts';

const GEOMETRY: RingGeometry = { slots: SLOTS_DEFAULT, slotBytes: SLOT_BYTES_DEFAULT };
const RECORD_BYTES = 100;
/** Of one iteration. */
const RECORDS = 1_024;
const FRAMES = 1_024;
const STREAMS = 64;
const INDEXED_FRAMES = 65_536;
const STRIDE = 7_919;

export const ringAppend: Workload = micro({
  name: 'ring-append',
  what: 'puts 100 B records into the ring as frames, one stream, and gives full slots back',
  floor: 'copies the same records into memory as large',
  amount: { items: RECORDS },
  prepare: () => ({ millrace: appendToRing(), floor: copyToMemory() }),
});

export const memtableAdd: Workload = micro({
  name: 'memtable-add',
  what: 'adds frames of 64 streams to the memtable, and drops them with their slot',
  floor: 'pushes the same numbers to an array a stream, found in a Map',
  amount: { items: FRAMES },
  prepare: () => ({ millrace: addToMemtable(), floor: pushToArrays() }),
});

export const memtableFind: Workload = micro({
  name: 'memtable-find',
  what: 'finds the frame of an offset among 65,536',
  floor: 'looks the offset up in a Map that knows it',
  amount: { items: FRAMES },
  prepare: findFrames,
});

function appendToRing(): () => void {
  const pool = recordPool(RECORD_BYTES);
  const ring = allocateRing(GEOMETRY);
  const memtable = new Memtable(ring, GEOMETRY);
  const stream: WritableStreamState = { streamId: 1, nextOffset: 0, epoch: 0, userBytes: 0, trackingBytes: 0 };
  const full: SealedSlot[] = [];
  const producer = new RingProducer(
    ring,
    GEOMETRY,
    { lane: 0, storeId: new Uint8Array(16) },
    { slotSequence: 0, blockSequence: 0 },
    -1,
    new Doorbell(allocateDoorbell()),
    {
      closing: () => {
        appender.finish();
      },
      closed: () => undefined,
      sealed: (slot) => full.push(slot),
    },
  );
  producer.words.reset(0);
  const appender = new FrameAppender(ring, producer, memtable);
  const release = (): void => {
    for (const { slotSequence } of full.splice(0)) {
      memtable.dropThrough(slotSequence);
      producer.release(slotSequence);
    }
  };
  return () => {
    for (let index = 0; index < RECORDS; index += 1) {
      if (!appender.append(stream, null, pool[index]!, RECORD_BYTES, 0)) throw new Error('the ring is full');
    }
    release();
  };
}

function copyToMemory(): () => void {
  const pool = recordPool(RECORD_BYTES);
  const memory = Buffer.from(new SharedArrayBuffer(CONTROL_BYTES + GEOMETRY.slots * GEOMETRY.slotBytes));
  let position = 0;
  return () => {
    if (position + RECORDS * RECORD_BYTES > memory.length) position = 0;
    for (let index = 0; index < RECORDS; index += 1) {
      pool[index]!.copy(memory, position);
      position += RECORD_BYTES;
    }
  };
}

function addToMemtable(): () => void {
  const memtable = new Memtable(allocateRing({ slots: 2, slotBytes: 65_536 }), GEOMETRY);
  let slotSequence = 0;
  let offset = 0;
  return () => {
    for (let frame = 0; frame < FRAMES; frame += 1) {
      memtable.add(frame % STREAMS, offset, logPosition(slotSequence, 4_096 + frame * 64));
      offset += 1;
    }
    memtable.dropThrough(slotSequence);
    slotSequence += 1;
  };
}

function pushToArrays(): () => void {
  const streams = new Map<number, number[]>();
  let offset = 0;
  return () => {
    for (let frame = 0; frame < FRAMES; frame += 1) {
      const streamId = frame % STREAMS;
      let offsets = streams.get(streamId);
      if (offsets === undefined) {
        offsets = [];
        streams.set(streamId, offsets);
      }
      offsets.push(offset, 4_096 + frame * 64);
      offset += 1;
    }
    streams.clear();
  };
}

function findFrames(): MicroSides {
  const index = new StreamIndex(1);
  const known = new Map<number, number>();
  for (let frame = 0; frame < INDEXED_FRAMES; frame += 1) {
    index.add(frame * 10, frame * 64);
    known.set(frame * 10, frame);
  }
  const search = (find: (offset: number) => number | undefined) => () => {
    for (let step = 0; step < FRAMES; step += 1) {
      const frame = (step * STRIDE) % INDEXED_FRAMES;
      if (find(frame * 10) !== frame) throw new Error(`frame ${frame} was not found`);
    }
  };
  return { millrace: search((offset) => index.floor(offset)), floor: search((offset) => known.get(offset)) };
}
