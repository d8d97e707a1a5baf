/** One slot file of the write-ahead log, read as a whole and judged by recovery's table. */
import { basename } from 'node:path';
import { bytesEqual, viewOf } from '../base/bytes.ts';
import type { FileHandle, FileSystem } from '../base/file-system.ts';
import { readFileAtSync } from '../base/whole-file.ts';
import { xxh64 } from '../codec/checksum.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { MIB } from '../limits/limits.ts';
import { BLOCK_HEADER_BYTES, BLOCK_MAGIC, readBlockHeader } from '../ring/block-format.ts';
import { FIRST_BLOCK_POSITION, type RingGeometry } from '../ring/geometry.ts';
import { walkFrames } from '../record/frame-reader.ts';
import type { VerifyProblem } from '../store/verify.ts';
import { decide, FILE_TABLE, type FileDecision, type FileFacts } from '../wal/recovery-table.ts';
import { findBlocks, type FoundBlock } from '../wal/scan.ts';
import { readSlotHeader, SLOT_CHECKED_BYTES, SLOT_MAGIC, SLOT_VERSION } from '../wal/slot-format.ts';

const READ_BYTES: number = 8 * MIB;

/** Where a slot file belongs. */
export interface SlotPlace {
  readonly lane: number;
  readonly slotIndex: number;
  readonly geometry: RingGeometry;
  readonly storeId: Uint8Array;
}

export interface SlotContents {
  readonly blocks: readonly FoundBlock[];
  /** Records of each block, by stream id. */
  readonly records: ReadonlyMap<FoundBlock, ReadonlyMap<number, number>>;
  readonly problem: VerifyProblem | undefined;
}

const PROBLEMS: Readonly<Record<Exclude<FileDecision, 'use'>, string>> = {
  create: 'missing',
  damaged: 'missing or damaged',
  'too-new': 'written by a newer millrace',
  foreign: 'belongs to another store',
};

/** Whether the file's first block is of a filling that no segment has: one small read tells. */
export function mayHoldUnflushed(fileSystem: FileSystem, path: string, flushed: number): boolean {
  if (fileSystem.statSync(path)?.kind !== 'file') return false;
  const header = new Uint8Array(BLOCK_HEADER_BYTES);
  if (readFileAtSync(fileSystem, path, header, FIRST_BLOCK_POSITION) !== header.length) return false;
  const { magic, slotSequence } = readBlockHeader(viewOf(header), 0);
  return magic === BLOCK_MAGIC && slotSequence > flushed;
}

/** Reads a slot file. Never throws for damage: the judgement is in `problem`. */
export async function readSlot(fileSystem: FileSystem, path: string, place: SlotPlace): Promise<SlotContents> {
  const image = await readImage(fileSystem, path, place.geometry.slotBytes);
  const row = decide(FILE_TABLE, factsOf(image, fileSystem.statSync(path) !== undefined, place));
  if (row.then !== 'use' || image === undefined) {
    const what = row.then === 'use' ? 'damaged' : row.then;
    const problem = { where: `wal/${basename(path)}`, problem: `${PROBLEMS[what]} (${row.label})` };
    return { blocks: [], records: new Map(), problem };
  }
  const blocks = findBlocks(image, place);
  const records = new Map(blocks.map((block) => [block, recordsOf(image, block)]));
  return { blocks, records, problem: undefined };
}

/** The whole file; `undefined` when there is none of that size. */
async function readImage(fileSystem: FileSystem, path: string, bytes: number): Promise<Uint8Array | undefined> {
  const stat = fileSystem.statSync(path);
  if (stat?.kind !== 'file' || stat.size !== bytes) return undefined;
  const file = await fileSystem.open(path, { access: 'read' });
  try {
    return await readFully(file, bytes);
  } finally {
    await file.close();
  }
}

async function readFully(file: FileHandle, bytes: number): Promise<Uint8Array | undefined> {
  const image = new Uint8Array(bytes);
  for (let position = 0; position < bytes;) {
    const count = await file.read(image, position, Math.min(READ_BYTES, bytes - position), position);
    if (count === 0) return undefined;
    position += count;
  }
  return image;
}

function factsOf(image: Uint8Array | undefined, present: boolean, place: SlotPlace): FileFacts {
  if (image === undefined) {
    return { present, storeBorn: true, headerValid: false, versionKnown: false, sameStore: false, placed: false };
  }
  const header = readSlotHeader(viewOf(image));
  return {
    present,
    storeBorn: true,
    headerValid: header.magic === SLOT_MAGIC && xxh64(image.subarray(0, SLOT_CHECKED_BYTES)) === header.checksum,
    versionKnown: header.version <= SLOT_VERSION,
    sameStore: bytesEqual(header.storeId, place.storeId),
    placed:
      header.lane === place.lane &&
      header.slotIndex === place.slotIndex &&
      header.slots === place.geometry.slots &&
      header.slotBytes === image.length,
  };
}

/** The block's checksum holds, so its frames are what was written. */
function recordsOf(image: Uint8Array, block: FoundBlock): Map<number, number> {
  const totals = new Map<number, number>();
  const from = block.position + BLOCK_HEADER_BYTES;
  const damaged = (problem: string, at: number): MillraceError =>
    new MillraceError('ERR_MILLRACE_WAL_CORRUPT', `${problem} at ${at}, in a block whose checksum holds`);
  walkFrames(viewOf(image), from, from + block.payloadBytes, damaged, ({ streamId, recordCount }) => {
    totals.set(streamId, (totals.get(streamId) ?? 0) + recordCount);
  });
  return totals;
}
