/**
 * A WAL slot file: one page of header, then blocks (`src/ring/block-format.ts`) up to the file's fixed size. The header
 * is written once, when the file is born, and never again. See `docs/formats/wal.md`.
 *
 * ```
 *   0 magic u32 "MRWL"
 *   4 version u16, lane u16
 *   8 slot index u32
 *  12 slots u32            of the lane
 *  16 slot bytes u64       of the whole file
 *  24 store id 16 B
 *  40 checksum u64         xxh64 of bytes [0, 40)
 *  48 zeros up to 4,096
 * ```
 */
import { readUint64, writeUint64 } from '../base/bytes.ts';
import { STORE_ID_BYTES } from '../ring/block-format.ts';

export const SLOT_MAGIC = 0x4c57524d;
export const SLOT_VERSION = 1;
export const SLOT_CHECKED_BYTES = 40;

export interface SlotHeader {
  readonly magic: number;
  readonly version: number;
  readonly lane: number;
  readonly slotIndex: number;
  readonly slots: number;
  readonly slotBytes: number;
  readonly storeId: Uint8Array;
  readonly checksum: bigint;
}

export type SlotIdentity = Omit<SlotHeader, 'magic' | 'version' | 'checksum'>;

export function writeSlotHeader(view: DataView, slot: SlotIdentity, checksum: (bytes: Uint8Array) => bigint): void {
  view.setUint32(0, SLOT_MAGIC, true);
  view.setUint16(4, SLOT_VERSION, true);
  view.setUint16(6, slot.lane, true);
  view.setUint32(8, slot.slotIndex, true);
  view.setUint32(12, slot.slots, true);
  writeUint64(view, 16, slot.slotBytes);
  const bytes = new Uint8Array(view.buffer, view.byteOffset, SLOT_CHECKED_BYTES);
  bytes.set(slot.storeId, 24);
  view.setBigUint64(40, checksum(bytes), true);
}

/** Reads a header without judging it. */
export function readSlotHeader(view: DataView): SlotHeader {
  return {
    magic: view.getUint32(0, true),
    version: view.getUint16(4, true),
    lane: view.getUint16(6, true),
    slotIndex: view.getUint32(8, true),
    slots: view.getUint32(12, true),
    slotBytes: readUint64(view, 16),
    storeId: new Uint8Array(view.buffer, view.byteOffset + 24, STORE_ID_BYTES).slice(),
    checksum: view.getBigUint64(40, true),
  };
}
