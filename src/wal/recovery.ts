/**
 * Recovery of a lane: reads its slot files into the ring, finds the log in them, and hands every unflushed filling on
 * to be flushed. It writes nothing, so that recovering twice, or being killed in between, gives the same.
 */
import { join } from 'node:path';
import { bytesEqual, PAGE_BYTES } from '../base/bytes.ts';
import type { FileHandle, FileSystem } from '../base/file-system.ts';
import { xxh64 } from '../codec/checksum.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { MIB } from '../limits/limits.ts';
import { BLOCK_HEADER_BYTES, blockBytes } from '../ring/block-format.ts';
import { type RingGeometry, slotBase, slotIndexOf } from '../ring/geometry.ts';
import type { LaneStart, SealedSlot } from '../ring/producer.ts';
import { FRAME_KIND } from '../record/frame-format.ts';
import { type FrameHeader, walkFrames } from '../record/frame-reader.ts';
import { gap } from './account.ts';
import { type Damage, fillingsOf, type LogWalk, walkLog } from './log-walk.ts';
import { decide, FILE_TABLE, type FileFacts } from './recovery-table.ts';
import { type LostRange, Salvage } from './salvage.ts';
import { findBlocks, type FoundBlock } from './scan.ts';
import { slotFileName } from './slot-files.ts';
import { readSlotHeader, SLOT_CHECKED_BYTES, SLOT_MAGIC, SLOT_VERSION } from './slot-format.ts';

const READ_BYTES: number = 8 * MIB;

export interface RecoveryInput {
  readonly fileSystem: FileSystem;
  readonly directory: string;
  readonly storeId: Uint8Array;
  readonly lane: number;
  readonly geometry: RingGeometry;
  readonly ring: SharedArrayBuffer;
  /** The last filling that the coordinator has as segments; -1 and -1 when there is none. */
  readonly flushed: LaneStart;
  /** Next offset of a stream by the coordinator; `undefined` when the stream was deleted. */
  readonly nextOffset: (streamId: number) => number | undefined;
  /** Skip damage and report it, instead of refusing to open. */
  readonly salvage: boolean;
}

/** A frame of the log that is in no segment yet. */
export interface RecoveredFrame {
  readonly header: FrameHeader;
  readonly slotSequence: number;
  /** Index of the frame in the ring. */
  readonly at: number;
}

export interface RecoveryReport {
  readonly lane: number;
  readonly blocks: number;
  readonly frames: number;
  readonly records: number;
  /** Label of the row in the decision table that ended the log. */
  readonly endedBy: string;
  /** What a salvage skipped. */
  readonly damages: readonly Damage[];
  readonly lost: readonly LostRange[];
}

export interface RecoveredLane {
  /** Where the lane goes on. */
  readonly start: LaneStart;
  /** Fillings up to this one are free. */
  readonly released: number;
  /** Fillings to flush, oldest first. */
  readonly fillings: readonly SealedSlot[];
  readonly frames: readonly RecoveredFrame[];
  readonly report: RecoveryReport;
}

/** Recovers a lane whose slot files exist. Throws a coded error that names file and position. */
export async function recoverLane(input: RecoveryInput): Promise<RecoveredLane> {
  const slots: FoundBlock[][] = [];
  for (let index = 0; index < input.geometry.slots; index += 1) slots.push(await loadSlot(input, index));
  const fillings = fillingsOf(slots, input.flushed.slotSequence);
  const walk = walkLog(fillings, input.flushed.blockSequence + 1);
  const [damage] = walk.damages;
  if (damage !== undefined && !input.salvage) throw damageError(input, damage);
  const { frames, salvage } = collectFrames(input, walk);
  const last = walk.blocks.at(-1);
  const newest = fillings.reduce((most, filling) => Math.max(most, filling.slotSequence), input.flushed.slotSequence);
  return {
    // A filling that ends in dropped blocks is never continued: a stale block behind the new end could follow on.
    start: { slotSequence: newest + 1, blockSequence: (last?.blockSequence ?? input.flushed.blockSequence) + 1 },
    released: input.flushed.slotSequence,
    fillings: sealedSlots(walk, salvage),
    frames,
    report: {
      lane: input.lane,
      blocks: walk.blocks.length,
      frames: frames.length,
      records: frames.reduce((sum, { header }) => sum + header.recordCount, 0),
      endedBy: walk.endedBy,
      damages: walk.damages,
      lost: salvage.lost,
    },
  };
}

/** Reads one file into its slot of the ring and returns its valid blocks. */
async function loadSlot(input: RecoveryInput, slotIndex: number): Promise<FoundBlock[]> {
  const path = join(input.directory, slotFileName(input.lane, slotIndex));
  const base = slotBase(input.geometry, slotIndex);
  const image = new Uint8Array(input.ring, base, input.geometry.slotBytes);
  const facts = await readInto(input, path, slotIndex, image);
  const row = decide(FILE_TABLE, facts);
  if (row.then === 'use') return findBlocks(image, input);
  if (row.then === 'damaged' && input.salvage) return [];
  throw fileError(path, row.label, row.then);
}

async function readInto(input: RecoveryInput, path: string, slotIndex: number, image: Uint8Array): Promise<FileFacts> {
  const stat = input.fileSystem.statSync(path);
  const absent = {
    present: false,
    storeBorn: true,
    headerValid: false,
    versionKnown: false,
    sameStore: false,
    placed: false,
  };
  if (stat === undefined) return absent;
  if (stat.kind !== 'file' || stat.size !== image.length) return { ...absent, present: true };
  const file = await input.fileSystem.open(path, { access: 'write' });
  try {
    await readFully(file, image);
    // What is read here is served to readers: it must not vanish in a later power loss because a killed process left
    // it in the page cache only.
    await file.sync();
  } finally {
    await file.close();
  }
  const header = readSlotHeader(new DataView(image.buffer, image.byteOffset, PAGE_BYTES));
  const checked = xxh64(image.subarray(0, SLOT_CHECKED_BYTES)) === header.checksum;
  return {
    present: true,
    storeBorn: true,
    headerValid: header.magic === SLOT_MAGIC && checked,
    versionKnown: header.version <= SLOT_VERSION,
    sameStore: bytesEqual(header.storeId, input.storeId),
    placed:
      header.lane === input.lane &&
      header.slotIndex === slotIndex &&
      header.slots === input.geometry.slots &&
      header.slotBytes === image.length,
  };
}

async function readFully(file: FileHandle, target: Uint8Array): Promise<void> {
  let position = 0;
  while (position < target.length) {
    const count = await file.read(target, position, Math.min(READ_BYTES, target.length - position), position);
    if (count === 0) break;
    position += count;
  }
}

/** Walks the frames of the log, holds them against their streams, and covers what a salvage has to leave out. */
function collectFrames(input: RecoveryInput, walk: LogWalk): { frames: RecoveredFrame[]; salvage: Salvage } {
  const view = new DataView(input.ring);
  const frames: RecoveredFrame[] = [];
  const due = new Map<number, number>();
  const salvage = new Salvage(view, input, walk.damages);
  for (const block of walk.blocks) {
    salvage.reach(block);
    const from = slotBase(input.geometry, block.slotSequence) + block.position + BLOCK_HEADER_BYTES;
    walkFrames(
      view,
      from,
      from + block.payloadBytes,
      (problem, at) => frameError(input, block, problem, at - from),
      (header, at) => {
        const { streamId, firstOffset, offsetSpan, kind } = header;
        const stored = input.nextOffset(streamId);
        if (stored === undefined) return;
        const expected = due.get(streamId) ?? stored;
        const rewinds = kind === FRAME_KIND.truncation && firstOffset <= expected;
        if (firstOffset > expected && input.salvage) {
          frames.push(salvage.cover(streamId, expected, firstOffset));
        } else if (firstOffset !== expected && !rewinds) {
          throw gap(streamId, expected, firstOffset);
        }
        due.set(streamId, firstOffset + offsetSpan);
        frames.push({ header, slotSequence: block.slotSequence, at });
      },
    );
  }
  salvage.finish();
  return { frames, salvage };
}

function sealedSlots(walk: LogWalk, salvage: Salvage): SealedSlot[] {
  const slots = new Map<number, SealedSlot>();
  for (const block of walk.blocks) {
    const endPosition = block.position + blockBytes(block.payloadBytes);
    slots.set(block.slotSequence, { slotSequence: block.slotSequence, endPosition, lastBlock: block.blockSequence });
  }
  for (const region of salvage.covered) {
    const slot = slots.get(region.slotSequence);
    slots.set(region.slotSequence, {
      slotSequence: region.slotSequence,
      endPosition: Math.max(slot?.endPosition ?? 0, region.endPosition),
      lastBlock: Math.max(slot?.lastBlock ?? 0, region.lastBlock),
    });
  }
  return [...slots.values()].sort((left, right) => left.slotSequence - right.slotSequence);
}

const SALVAGE_ADVICE = 'restore the file from a backup, or open with `salvage: true` to skip what is lost';

function damageError(input: RecoveryInput, damage: Damage): MillraceError {
  const path = join(input.directory, slotFileName(input.lane, slotIndexOf(input.geometry, damage.slotSequence)));
  return new MillraceError(
    'ERR_MILLRACE_WAL_CORRUPT',
    `${path}: block ${damage.blockSequence} at ${damage.position} was acknowledged and is damaged (${damage.label}): ` +
      SALVAGE_ADVICE,
    { details: { file: path, position: damage.position, blockSequence: damage.blockSequence, rule: damage.label } },
  );
}

function frameError(input: RecoveryInput, block: FoundBlock, problem: string, at: number): MillraceError {
  const path = join(input.directory, slotFileName(input.lane, slotIndexOf(input.geometry, block.slotSequence)));
  const position = block.position + BLOCK_HEADER_BYTES + at;
  return new MillraceError('ERR_MILLRACE_WAL_CORRUPT', `${path}: ${problem} at ${position}: ${SALVAGE_ADVICE}`, {
    details: { file: path, position },
  });
}

function fileError(path: string, label: string, decision: 'create' | 'damaged' | 'too-new' | 'foreign'): MillraceError {
  const details = { file: path, position: 0, rule: label };
  if (decision === 'too-new') {
    return new MillraceError('ERR_MILLRACE_FORMAT_TOO_NEW', `${path}: written by a newer millrace: upgrade this one`, {
      details,
    });
  }
  if (decision === 'foreign') {
    return new MillraceError(
      'ERR_MILLRACE_FOREIGN_FILE',
      `${path}: belongs to another store: remove it and put back this store's own`,
      {
        details,
      },
    );
  }
  return new MillraceError('ERR_MILLRACE_WAL_CORRUPT', `${path}: missing or damaged (${label}): ${SALVAGE_ADVICE}`, {
    details,
  });
}
