/**
 * The clean mark of a lane: written when a store is closed with its whole log in segments, and when the files of a lane
 * are about to be made; removed before the next write to the log. While it is there the slot files hold nothing to
 * recover, and opening need not read them.
 *
 * ```
 *   0 magic u32 "MRCL"
 *   4 version u16, lane u16
 *   8 store id 16 B
 *  24 slot sequence u64, block sequence u64     where the lane goes on; each plus one, since -1 stands for none
 *  40 slot sequence u64, block sequence u64     the last filling in segments: must be what the coordinator says
 *  56 checksum u64                              xxh64 of bytes [0, 56)
 * ```
 */
import { join } from 'node:path';
import { assert } from '../base/assert.ts';
import { bytesEqual, readUint64, viewOf, writeUint64 } from '../base/bytes.ts';
import { readFileAtSync, replaceFileSync } from '../base/whole-file.ts';
import { xxh64 } from '../codec/checksum.ts';
import { STORE_ID_BYTES } from '../ring/block-format.ts';
import type { LaneStart } from '../ring/producer.ts';
import type { LanePlace } from './slot-files.ts';

export const CLEAN_MAGIC = 0x4c43524d;
export const CLEAN_VERSION = 1;
export const CLEAN_BYTES = 64;
const CHECKED_BYTES = 56;
const START = 24;
const FLUSHED = 40;

export interface CleanMark {
  readonly start: LaneStart;
  readonly flushed: LaneStart;
}

export function cleanMarkName(lane: number): string {
  return `lane-${String(lane).padStart(3, '0')}.clean`;
}

export function isCleanMarkName(name: string): boolean {
  return /^lane-\d{3}\.clean$/.test(name);
}

/** Writes the mark whole and durably. Nothing may be written to the lane's log afterwards. */
export function writeCleanMark({ fileSystem, directory, storeId, lane }: LanePlace, mark: CleanMark): void {
  const bytes = new Uint8Array(CLEAN_BYTES);
  const view = viewOf(bytes);
  view.setUint32(0, CLEAN_MAGIC, true);
  view.setUint16(4, CLEAN_VERSION, true);
  view.setUint16(6, lane, true);
  bytes.set(storeId, 8);
  writeSequences(view, START, mark.start);
  writeSequences(view, FLUSHED, mark.flushed);
  view.setBigUint64(CHECKED_BYTES, xxh64(bytes.subarray(0, CHECKED_BYTES)), true);
  replaceFileSync(fileSystem, join(directory, cleanMarkName(lane)), bytes);
}

/**
 * The mark; `undefined` when there is none that holds. A mark that is damaged or of another time only costs the reading
 * that it would have saved.
 */
export function readCleanMark(place: LanePlace, flushed: LaneStart): CleanMark | undefined {
  const { fileSystem, directory, storeId, lane } = place;
  const path = join(directory, cleanMarkName(lane));
  if (fileSystem.statSync(path) === undefined) return undefined;
  const bytes = new Uint8Array(CLEAN_BYTES);
  const count = readFileAtSync(fileSystem, path, bytes);
  const view = viewOf(bytes);
  const mark = parseCleanMark(view);
  const holds =
    count === CLEAN_BYTES &&
    view.getUint32(0, true) === CLEAN_MAGIC &&
    mark.version === CLEAN_VERSION &&
    mark.lane === lane &&
    bytesEqual(mark.storeId, storeId) &&
    mark.sound &&
    mark.flushed.slotSequence === flushed.slotSequence &&
    mark.flushed.blockSequence === flushed.blockSequence &&
    mark.start.slotSequence > flushed.slotSequence;
  return holds ? { start: mark.start, flushed: mark.flushed } : undefined;
}

/** Takes the mark away, durably, and returns it as `readCleanMark` does. */
export function takeCleanMark(place: LanePlace, flushed: LaneStart): CleanMark | undefined {
  const { fileSystem, directory, lane } = place;
  const path = join(directory, cleanMarkName(lane));
  if (fileSystem.statSync(path) === undefined) return undefined;
  const mark = readCleanMark(place, flushed);
  fileSystem.removeSync(path);
  // Until the removal is durable, a power loss could bring the mark back in front of a log with records.
  fileSystem.syncDirectorySync(directory);
  return mark;
}

/** The fields of a mark, believed or not. */
export interface CleanMarkFields extends CleanMark {
  readonly version: number;
  readonly lane: number;
  readonly storeId: Uint8Array;
  /** The checksum holds. */
  readonly sound: boolean;
}

/** `view` has the `CLEAN_BYTES` of a mark. */
export function parseCleanMark(view: DataView): CleanMarkFields {
  assert(view.byteLength === CLEAN_BYTES, 'a mark is read whole');
  const bytes = new Uint8Array(view.buffer, view.byteOffset, CLEAN_BYTES);
  return {
    version: view.getUint16(4, true),
    lane: view.getUint16(6, true),
    storeId: bytes.slice(8, 8 + STORE_ID_BYTES),
    start: readSequences(view, START),
    flushed: readSequences(view, FLUSHED),
    sound: view.getBigUint64(CHECKED_BYTES, true) === xxh64(bytes.subarray(0, CHECKED_BYTES)),
  };
}

function writeSequences(view: DataView, at: number, { slotSequence, blockSequence }: LaneStart): void {
  writeUint64(view, at, slotSequence + 1);
  writeUint64(view, at + 8, blockSequence + 1);
}

function readSequences(view: DataView, at: number): LaneStart {
  return { slotSequence: readUint64(view, at) - 1, blockSequence: readUint64(view, at + 8) - 1 };
}
