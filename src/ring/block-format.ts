/**
 * A block: frames closed together, the unit of checksum in the WAL. The header lies in the ring itself, in front of its
 * frames, so that the bytes in memory are the bytes on disk. See `docs/formats/wal.md`.
 *
 * ```
 *   0 checksum u64     xxh64 of bytes [8, 64 + payloadBytes), seeded by slot sequence and position      (WAL worker)
 *   8 magic u32        "MRBK"                                                                           (producer)
 *  12 version u16, lane u16
 *  16 store id 16 B
 *  32 slot sequence u64   which filling of the slot: a recycled file holds blocks of older sequences
 *  40 block sequence u64  contiguous over the whole life of a lane
 *  48 position u32        of this header in the slot
 *  52 payload bytes u32   of frames behind the header; padding to 4,096 follows and is not covered
 *  56 write start u32     where the write that carried this block began: all before it was durable     (WAL worker)
 *  60 reserved u32        0
 * ```
 */
import { alignUp, PAGE_BYTES, readUint64, writeUint64 } from '../base/bytes.ts';

export const BLOCK_MAGIC = 0x4b42524d;
export const BLOCK_VERSION = 1;
export const BLOCK_HEADER_BYTES = 64;
/** The checksum covers everything from here to the end of the payload. */
export const BLOCK_CHECKED_FROM = 8;
export const STORE_ID_BYTES = 16;

const CHECKSUM = 0;
const MAGIC = 8;
const VERSION = 12;
const LANE = 14;
const STORE_ID = 16;
const SLOT_SEQUENCE = 32;
const BLOCK_SEQUENCE = 40;
const POSITION = 48;
const PAYLOAD_BYTES = 52;
const WRITE_START = 56;
/** A field that is 0 in this version. */
export const BLOCK_RESERVED = 60;

/** What identifies a block: compared field by field with what its place requires. */
export interface BlockHeader {
  readonly checksum: bigint;
  readonly magic: number;
  readonly version: number;
  readonly lane: number;
  readonly storeId: Uint8Array;
  readonly slotSequence: number;
  readonly blockSequence: number;
  readonly position: number;
  readonly payloadBytes: number;
  readonly writeStart: number;
}

export type ProducedBlock = Omit<BlockHeader, 'checksum' | 'magic' | 'version' | 'writeStart'>;

/** Writes the producer's part of the header at `at` in `view`, a view of ring memory. */
export function writeBlockHeader(view: DataView, at: number, block: ProducedBlock): void {
  view.setUint32(at + MAGIC, BLOCK_MAGIC, true);
  view.setUint16(at + VERSION, BLOCK_VERSION, true);
  view.setUint16(at + LANE, block.lane, true);
  new Uint8Array(view.buffer, view.byteOffset + at + STORE_ID, STORE_ID_BYTES).set(block.storeId);
  writeUint64(view, at + SLOT_SEQUENCE, block.slotSequence);
  writeUint64(view, at + BLOCK_SEQUENCE, block.blockSequence);
  view.setUint32(at + POSITION, block.position, true);
  view.setUint32(at + PAYLOAD_BYTES, block.payloadBytes, true);
  view.setUint32(at + BLOCK_RESERVED, 0, true);
}

/** Writes the WAL worker's part: first where the write begins, then, over the result, the checksum. */
export function sealBlock(
  view: DataView,
  at: number,
  writeStart: number,
  checksum: (from: number, to: number) => bigint,
): void {
  view.setUint32(at + WRITE_START, writeStart, true);
  const end = at + BLOCK_HEADER_BYTES + view.getUint32(at + PAYLOAD_BYTES, true);
  view.setBigUint64(at + CHECKSUM, checksum(at + BLOCK_CHECKED_FROM, end), true);
}

/** Reads a header without judging it. */
export function readBlockHeader(view: DataView, at: number): BlockHeader {
  return {
    checksum: view.getBigUint64(at + CHECKSUM, true),
    magic: view.getUint32(at + MAGIC, true),
    version: view.getUint16(at + VERSION, true),
    lane: view.getUint16(at + LANE, true),
    storeId: new Uint8Array(view.buffer, view.byteOffset + at + STORE_ID, STORE_ID_BYTES).slice(),
    slotSequence: readUint64(view, at + SLOT_SEQUENCE),
    blockSequence: readUint64(view, at + BLOCK_SEQUENCE),
    position: view.getUint32(at + POSITION, true),
    payloadBytes: view.getUint32(at + PAYLOAD_BYTES, true),
    writeStart: view.getUint32(at + WRITE_START, true),
  };
}

/** The payload length alone, for walking blocks that the same process produced. */
export function payloadBytesAt(view: DataView, at: number): number {
  return view.getUint32(at + PAYLOAD_BYTES, true);
}

/** The bytes a block occupies: header, payload and padding. */
export function blockBytes(payloadBytes: number): number {
  return alignUp(BLOCK_HEADER_BYTES + payloadBytes, PAGE_BYTES);
}

/** Seeds the checksum, so that a valid block at the wrong place, or of an older filling, does not pass. */
export function blockSeed(slotSequence: number, position: number): bigint {
  return (BigInt(slotSequence) << 32n) | BigInt(position);
}
