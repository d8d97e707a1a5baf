/** The slot file that `docs/formats/wal.md` shows. */
import { Memtable } from '../../src/memtable/memtable.ts';
import { allocateDoorbell, Doorbell } from '../../src/ring/doorbell.ts';
import { allocateRing, type RingGeometry, slotBase } from '../../src/ring/geometry.ts';
import { RingProducer } from '../../src/ring/producer.ts';
import { FrameAppender } from '../../src/stream/frame-appender.ts';
import { createSlotFiles } from '../../src/wal/slot-files.ts';
import { WalWriter } from '../../src/wal/writer.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { DIRECTORY, slotPath } from './stepped-lane.ts';
import { newStream } from './stream-state.ts';

export const EXAMPLE: { readonly lane: number; readonly storeId: Uint8Array; readonly geometry: RingGeometry } = {
  lane: 3,
  storeId: Uint8Array.from({ length: 16 }, (_, index) => index),
  geometry: { slots: 2, slotBytes: 65_536 },
};

/** Filling 5 with one block, number 9, as the engine writes it. */
export async function exampleSlot(): Promise<Uint8Array> {
  const { lane, storeId, geometry } = EXAMPLE;
  const disk = new SimulatedDisk({ directories: [DIRECTORY] });
  await createSlotFiles({ fileSystem: disk, directory: DIRECTORY, storeId, lane }, geometry);
  const ring = allocateRing(geometry);
  for (const slot of [0, 1])
    new Uint8Array(ring, slotBase(geometry, slot)).set(disk.contentOf(slotPath(slot, lane)).subarray(0, 4096));
  const start = { slotSequence: 5, blockSequence: 9 };
  const producer = new RingProducer(ring, geometry, { lane, storeId }, start, 4, new Doorbell(allocateDoorbell()), {
    closing: () => {
      appender.finish();
    },
    closed: () => undefined,
    sealed: () => undefined,
  });
  producer.words.reset(start.blockSequence);
  const appender = new FrameAppender(ring, producer, new Memtable(ring, geometry));
  const stream = { ...newStream(7), nextOffset: 42 };
  appender.append(stream, Buffer.from('k'), 'hello', 15, 1_700_000_000_000);
  producer.closeBlock();
  const nextOffsets = new Float64Array(8);
  nextOffsets[7] = 42;
  const writer = new WalWriter({ fileSystem: disk, directory: DIRECTORY });
  writer.addLane({ lane, ring, geometry, start, nextOffsets });
  writer.step();
  return disk.contentOf(slotPath(1, lane));
}
