/** The files of a producer's lane: made when it is first needed, and opened into a ring. */
import type { FileSystem } from '../../base/file-system.ts';
import type { Coordinator } from '../../coordinator/coordinator.ts';
import { allocateRing, type RingGeometry } from '../../ring/geometry.ts';
import { LaneWords } from '../../ring/lane-words.ts';
import type { LaneStart } from '../../ring/producer.ts';
import { takeCleanMark, writeCleanMark } from '../../wal/clean-mark.ts';
import { recoverLane } from '../../wal/recovery.ts';
import { createSlotFiles } from '../../wal/slot-files.ts';
import type { ServedLane } from './host.ts';

export interface LaneFiles {
  readonly fileSystem: FileSystem;
  readonly walDirectory: string;
  readonly storeId: Uint8Array;
  readonly coordinator: Coordinator;
  readonly lane: number;
  readonly geometry: RingGeometry;
  /** Where the log goes on; `undefined` for a lane without files. All of it is in segments. */
  readonly start: LaneStart | undefined;
}

/** Makes the files that are missing, and the ring that they are the image of. */
export async function makeLane(files: LaneFiles): Promise<ServedLane> {
  const { coordinator, lane, geometry } = files;
  const place = { fileSystem: files.fileSystem, directory: files.walDirectory, storeId: files.storeId, lane };
  const { slotSequence, blockSequence } = await flushedOf(coordinator, lane);
  const flushed = { slotSequence, blockSequence };
  const start = files.start ?? { slotSequence: slotSequence + 1, blockSequence: blockSequence + 1 };
  if (files.start === undefined) {
    // Says, should a crash come between the files, that those that are there hold nothing and the rest can be made.
    writeCleanMark(place, { start, flushed });
    await createSlotFiles(place, geometry);
    takeCleanMark(place, flushed);
  }
  const ring = allocateRing(geometry);
  // Reads and judges the headers alone: the log is known to hold nothing.
  await recoverLane({
    ...place,
    geometry,
    ring,
    flushed,
    stored: () => undefined,
    clean: start,
    salvage: false,
  });
  // Before the WAL worker and the view of the lane look at it; its producer comes later, and sets the same.
  new LaneWords(ring).reset(start.blockSequence);
  return { lane, ring, geometry, start, released: start.slotSequence - 1 };
}

/** The last filling of a lane that is in segments. */
export async function flushedOf(coordinator: Coordinator, lane: number): Promise<LaneStart> {
  const slots = await coordinator.flushedSlots();
  return slots.find((slot) => slot.lane === lane) ?? { slotSequence: -1, blockSequence: -1 };
}
