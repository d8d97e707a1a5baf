/**
 * Recovery of a lane: reads its slot files into the ring, finds the log in them, and hands every unflushed filling on
 * to be flushed. It writes nothing, so that recovering twice, or being killed in between, gives the same.
 */
import { join } from 'node:path';
import { bytesEqual, PAGE_BYTES } from '../base/bytes.ts';
import type { FileHandle } from '../base/file-system.ts';
import { xxh64 } from '../codec/checksum.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { MIB } from '../limits/limits.ts';
import { BLOCK_HEADER_BYTES, BLOCK_VERSION, blockBytes } from '../ring/block-format.ts';
import { FIRST_BLOCK_POSITION, type RingGeometry, slotBase, slotIndexOf } from '../ring/geometry.ts';
import type { LaneStart, SealedSlot } from '../ring/producer.ts';
import { FRAME_KIND } from '../record/frame-format.ts';
import { type FrameHeader, walkFrames } from '../record/frame-reader.ts';
import { type Damage, fillingsOf, type LogWalk, walkLog } from './log-walk.ts';
import { decide, FILE_TABLE, type FileFacts } from './recovery-table.ts';
import { type LostRange, type LostTruncation, Salvage, type SalvagedFrame } from './salvage.ts';
import { findBlocks, type FoundBlock } from './scan.ts';
import { type LanePlace, slotFileName } from './slot-files.ts';
import { readSlotHeader, SLOT_CHECKED_BYTES, SLOT_MAGIC, SLOT_VERSION, writeSlotHeader } from './slot-format.ts';

const READ_BYTES: number = 8 * MIB;
/** So many power losses in a row may tear the first write of a filling; a header further away is damaged itself. */
const TORN_FILLINGS_MAX: number = 2 ** 20;

export interface RecoveryInput extends LanePlace {
  readonly geometry: RingGeometry;
  readonly ring: SharedArrayBuffer;
  /** The last filling that the coordinator has as segments; -1 and -1 when there is none. */
  readonly flushed: LaneStart;
  /** How far a stream has come by the coordinator; `undefined` when the stream was deleted. */
  readonly stored: (streamId: number) => StreamPosition | undefined;
  /** Where the lane goes on, when its log was closed clean: only the files' headers are read then. */
  readonly clean?: LaneStart | undefined;
  /** Skip damage and report it, instead of refusing to open. */
  readonly salvage: boolean;
}

/** Where a stream goes on, and under which epoch. */
export interface StreamPosition {
  readonly nextOffset: number;
  readonly epoch: number;
}

/** A frame of the log that is in no segment yet. */
export interface RecoveredFrame {
  readonly header: FrameHeader;
  readonly slotSequence: number;
  /** Index of the frame in the ring. */
  readonly at: number;
}

/** What opening found in a log. */
export interface RecoveryReport {
  /** Lane whose log it was; 0 is that of the store itself. */
  readonly lane: number;
  /** Blocks that were read. */
  readonly blocks: number;
  /** Frames in them. */
  readonly frames: number;
  /** User records in them that no segment held. */
  readonly records: number;
  /** Label of the row in the decision table that ended the log. */
  readonly endedBy: string;
  /** What a salvage skipped. */
  readonly damages: readonly Damage[];
  /** Offsets of acknowledged records that a salvage had to give up. */
  readonly lost: readonly LostRange[];
  /** Truncations that a salvage had to give up. */
  readonly lostTruncations: readonly LostTruncation[];
}

export interface RecoveredLane {
  /** Where the lane goes on. */
  readonly start: LaneStart;
  /** Fillings up to this one are free. */
  readonly released: number;
  /** Fillings to flush, oldest first. */
  readonly fillings: readonly SealedSlot[];
  readonly frames: readonly RecoveredFrame[];
  /** Slot files that a salvage found missing or damaged: `rebuildSlotFiles` replaces them before the lane is opened. */
  readonly unusableFiles: readonly number[];
  readonly report: RecoveryReport;
}

/** Recovers a lane whose slot files exist. Throws a coded error that names file and position. */
export async function recoverLane(input: RecoveryInput): Promise<RecoveredLane> {
  const { flushed, geometry, clean } = input;
  const slots: LoadedSlot[] = [];
  for (let index = 0; index < geometry.slots; index += 1) slots.push(await loadSlot(input, index));
  const fillings = fillingsOf(
    slots.map(({ blocks }) => blocks),
    flushed.slotSequence,
  );
  const walk = walkLog(fillings, flushed.blockSequence + 1);
  const [damage] = walk.damages;
  if (damage !== undefined && !input.salvage) {
    throw damageError(input, damage, wentRound(slots, flushed.slotSequence));
  }
  const { frames, covered, lost, lostTruncations } = collectFrames(input, walk);
  const sealed = sealedSlots(walk, covered);
  const newest = fillings.at(-1)?.slotSequence ?? flushed.slotSequence;
  const slotSequence = nextFilling(slots, newest, sealed[0], geometry);
  return {
    start: clean ?? { slotSequence, blockSequence: (walk.blocks.at(-1)?.blockSequence ?? flushed.blockSequence) + 1 },
    released: (sealed[0]?.slotSequence ?? clean?.slotSequence ?? slotSequence) - 1,
    fillings: sealed,
    frames,
    unusableFiles: slots.flatMap(({ usable }, index) => (usable ? [] : [index])),
    report: {
      lane: input.lane,
      blocks: walk.blocks.length,
      frames: frames.length,
      records: frames.reduce((sum, { header }) => sum + header.recordCount, 0),
      endedBy: walk.endedBy,
      damages: walk.damages,
      lost,
      lostTruncations,
    },
  };
}

/**
 * The first filling that no write has touched. One that ends in dropped blocks is never continued: a stale block behind
 * the new end could follow on. Nor is one used again of which a torn write left no more than a header: where pages of
 * two attempts are alike, the second could complete a block of the first.
 */
function nextFilling(
  slots: readonly LoadedSlot[],
  newest: number,
  oldest: SealedSlot | undefined,
  geometry: RingGeometry,
): number {
  // While a filling waits for its flush, the ring ends one round behind it: what claims to lie there is damage.
  const most = oldest === undefined ? newest + TORN_FILLINGS_MAX : oldest.slotSequence + geometry.slots - 1;
  const torn = slots.flatMap(({ torn }) => torn).filter((slotSequence) => slotSequence <= most);
  return torn.reduce((last, slotSequence) => Math.max(last, slotSequence), newest) + 1;
}

/** What a slot file gave. */
interface LoadedSlot {
  readonly blocks: readonly FoundBlock[];
  /** Fillings that headers without a valid checksum name. */
  readonly torn: readonly number[];
  readonly usable: boolean;
}

/** Reads one file into its slot of the ring and finds its valid blocks. */
async function loadSlot(input: RecoveryInput, slotIndex: number): Promise<LoadedSlot> {
  const path = join(input.directory, slotFileName(input.lane, slotIndex));
  const base = slotBase(input.geometry, slotIndex);
  const image = new Uint8Array(input.ring, base, input.geometry.slotBytes);
  const row = decide(FILE_TABLE, await readInto(input, path, slotIndex, image));
  const usable = row.then === 'use';
  if (!usable && !(row.then === 'damaged' && input.salvage)) throw fileError(path, row.label, row.then);
  if (!usable) restoreHeader(input, slotIndex, image);
  if (input.clean !== undefined) return { blocks: [], torn: [], usable };
  const isHere = (slotSequence: number): boolean => slotIndexOf(input.geometry, slotSequence) === slotIndex;
  const torn = new Set<number>();
  const found = findBlocks(image, input, (slotSequence) => torn.add(slotSequence));
  const blocks = found.filter(({ slotSequence }) => isHere(slotSequence));
  const isTooNew = ({ version, slotSequence }: FoundBlock): boolean =>
    version > BLOCK_VERSION && slotSequence > input.flushed.slotSequence;
  if (blocks.some(isTooNew)) throw fileError(path, 'F4', 'too-new');
  return {
    blocks,
    torn: [...torn].filter(isHere),
    usable,
  };
}

/** The lane writes the header page from the ring when it opens the file. */
function restoreHeader({ lane, storeId, geometry }: RecoveryInput, slotIndex: number, image: Uint8Array): void {
  image.fill(0, 0, PAGE_BYTES);
  const { slots, slotBytes } = geometry;
  const view = new DataView(image.buffer, image.byteOffset, PAGE_BYTES);
  writeSlotHeader(view, { lane, slotIndex, slots, slotBytes, storeId }, xxh64);
}

const NOTHING_KNOWN: FileFacts = {
  present: false,
  storeBorn: true,
  headerValid: false,
  versionKnown: false,
  sameStore: false,
  placed: false,
};

async function readInto(input: RecoveryInput, path: string, slotIndex: number, image: Uint8Array): Promise<FileFacts> {
  const stat = input.fileSystem.statSync(path);
  if (stat === undefined) return NOTHING_KNOWN;
  if (stat.kind !== 'file') return { ...NOTHING_KNOWN, present: true };
  await readImage(input, path, image);
  const header = readSlotHeader(new DataView(image.buffer, image.byteOffset, PAGE_BYTES));
  const checked = xxh64(image.subarray(0, SLOT_CHECKED_BYTES)) === header.checksum;
  return {
    present: true,
    storeBorn: true,
    headerValid: header.magic === SLOT_MAGIC && checked,
    versionKnown: header.version <= SLOT_VERSION,
    sameStore: bytesEqual(header.storeId, input.storeId),
    placed:
      stat.size === image.length &&
      header.lane === input.lane &&
      header.slotIndex === slotIndex &&
      header.slots === input.geometry.slots &&
      header.slotBytes === image.length,
  };
}

async function readImage(
  { fileSystem, salvage, clean }: RecoveryInput,
  path: string,
  image: Uint8Array,
): Promise<void> {
  let file: FileHandle | undefined;
  try {
    file = await fileSystem.open(path, { access: 'write' });
    await readFully(file, clean === undefined ? image : image.subarray(0, PAGE_BYTES), salvage);
    // What is read here is served to readers: it must not vanish in a later power loss because a killed process left
    // it in the page cache only.
    await file.sync();
  } catch (error) {
    throw readFailure(path, error);
  } finally {
    await file?.close();
  }
}

/** Reads as much as the file has. A salvage leaves pages that the disk cannot read as zeros. */
async function readFully(file: FileHandle, target: Uint8Array, skipUnreadable: boolean): Promise<void> {
  let position = 0;
  let length = READ_BYTES;
  while (position < target.length) {
    try {
      const count = await file.read(target, position, Math.min(length, target.length - position), position);
      if (count === 0) break;
      position += count;
    } catch (error) {
      if (!skipUnreadable) throw error;
      if (length === PAGE_BYTES) position += PAGE_BYTES;
      length = PAGE_BYTES;
    }
  }
}

interface CollectedFrames {
  readonly frames: RecoveredFrame[];
  readonly covered: readonly SealedSlot[];
  readonly lost: readonly LostRange[];
  readonly lostTruncations: readonly LostTruncation[];
}

/** Walks the frames of the log, holds them against their streams, and covers what a salvage has to leave out. */
function collectFrames(input: RecoveryInput, walk: LogWalk): CollectedFrames {
  const view = new DataView(input.ring);
  const frames: RecoveredFrame[] = [];
  const due = new Map<number, StreamPosition>();
  const salvage = new Salvage(input.ring, input, walk.damages);
  const add = (header: FrameHeader, slotSequence: number, at: number): void => {
    const { streamId, firstOffset, offsetSpan, kind } = header;
    const stored = input.stored(streamId);
    if (stored === undefined) return;
    const { nextOffset: expected, epoch } = due.get(streamId) ?? stored;
    const rewinds = kind === FRAME_KIND.truncation && firstOffset <= expected;
    if (firstOffset !== expected && !rewinds) {
      const substitute = substituteFor(salvage, header, expected, epoch);
      if (substitute === undefined) throw gapError(streamId, expected, firstOffset);
      frames.push(substitute);
    }
    due.set(streamId, { nextOffset: firstOffset + offsetSpan, epoch: header.epoch });
    salvage.pass(streamId);
    frames.push({ header, slotSequence, at });
  };
  for (const block of walk.blocks) {
    salvage.reach(block);
    const from = slotBase(input.geometry, block.slotSequence) + block.position + BLOCK_HEADER_BYTES;
    const corrupt = (problem: string, at: number): MillraceError => frameError(input, block, problem, at - from);
    walkFrames(view, from, from + block.payloadBytes, corrupt, (header, at) => {
      add(header, block.slotSequence, at);
    });
  }
  const { lost, lostTruncations } = salvage;
  return { frames, covered: salvage.finish(), lost, lostTruncations };
}

/** What stands in for frames that are missing in front of one; `undefined` when nothing can. */
function substituteFor(
  salvage: Salvage,
  { streamId, firstOffset, epoch }: FrameHeader,
  expected: number,
  expectedEpoch: number,
): SalvagedFrame | undefined {
  if (firstOffset > expected) return salvage.cover(streamId, expected, firstOffset, expectedEpoch);
  return epoch > expectedEpoch ? salvage.rewind(streamId, firstOffset, epoch) : undefined;
}

function sealedSlots(walk: LogWalk, covered: readonly SealedSlot[]): SealedSlot[] {
  const ends = walk.blocks.map((block) => ({
    slotSequence: block.slotSequence,
    endPosition: block.position + blockBytes(block.payloadBytes),
    lastBlock: block.blockSequence,
  }));
  const slots = new Map<number, SealedSlot>();
  for (const end of [...ends, ...covered]) {
    const slot = slots.get(end.slotSequence);
    if (slot === undefined || slot.endPosition < end.endPosition) slots.set(end.slotSequence, end);
  }
  return [...slots.values()].sort((left, right) => left.slotSequence - right.slotSequence);
}

const SALVAGE_ADVICE = 'restore the file from a backup, or open with `salvage: true` to skip what is lost';

/** Said of `manifest/` where it and the log are not of the same time. */
const MANIFEST_ADVICE =
  'put back the `manifest/` that was there with this log, or restore the whole store from a backup; to salvage the ' +
  'log would not bring back what was flushed since';

/**
 * Every slot holds a filling younger than the last that was flushed, as far as the coordinator knows. A filling takes
 * the place of one that was flushed, so when the log begins too late then, what lay in front of it was flushed, too:
 * nothing of the log is missing, and the coordinator is older than it.
 */
function wentRound(slots: readonly LoadedSlot[], flushed: number): boolean {
  return slots.every(({ blocks }) => blocks.some(({ slotSequence }) => slotSequence > flushed));
}

function damageError(input: RecoveryInput, damage: Damage, roundIsFull: boolean): MillraceError {
  const path = join(input.directory, slotFileName(input.lane, slotIndexOf(input.geometry, damage.slotSequence)));
  const { position, blockSequence, label, resumesWith } = damage;
  return new MillraceError('ERR_MILLRACE_WAL_CORRUPT', `${path}: ${problem()}`, {
    details: { file: path, position, blockSequence, rule: label },
  });

  function problem(): string {
    // All that was due of the log's first filling is gone: lost, or flushed, which an older manifest does not know.
    const beginsLater = position === FIRST_BLOCK_POSITION && blockSequence === input.flushed.blockSequence + 1;
    if (label !== 'B2' && !(label === 'B5' && beginsLater)) {
      return `block ${blockSequence} at ${position} was acknowledged and is damaged (${label}): ${SALVAGE_ADVICE}`;
    }
    const begins = `the log begins with block ${resumesWith}, and by the manifest ${blockSequence} was due (${label})`;
    if (roundIsFull) return `${begins}: the manifest is older than the log: ${MANIFEST_ADVICE}`;
    return `${begins}: where the manifest is older than the log, ${MANIFEST_ADVICE}; else ${SALVAGE_ADVICE}`;
  }
}

/** A frame that does not continue its stream, though nothing of the log is damaged, or not enough for a salvage. */
function gapError(streamId: number, expected: number, found: number): MillraceError {
  const older = found > expected ? ', but older' : '';
  return new MillraceError(
    'ERR_MILLRACE_WAL_GAP',
    `stream ${streamId}: the log goes on at offset ${found} where ${expected} was due: the manifest is not of ` +
      `the time of the log${older}: ${MANIFEST_ADVICE}`,
    { details: { streamId, expected, found } },
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

function readFailure(path: string, error: unknown): MillraceError {
  const reason = error instanceof Error ? error.message : String(error);
  return new MillraceError(
    'ERR_MILLRACE_READ_FAILED',
    `${path}: ${reason}: check the disk and the file's permissions`,
    {
      details: { file: path },
      cause: error,
    },
  );
}
