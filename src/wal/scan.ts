/** Finds the valid blocks in the image of a slot file, wherever they lie. Judges bytes only, not the log. */
import { bytesEqual, PAGE_BYTES } from '../base/bytes.ts';
import { xxh64 } from '../codec/checksum.ts';
import {
  BLOCK_CHECKED_FROM,
  BLOCK_HEADER_BYTES,
  BLOCK_MAGIC,
  BLOCK_RESERVED,
  BLOCK_VERSION,
  blockBytes,
  blockSeed,
  readBlockHeader,
} from '../ring/block-format.ts';
import { FIRST_BLOCK_POSITION } from '../ring/geometry.ts';

/** A block whose checksum holds and whose header names the place it lies at. */
export interface FoundBlock {
  /** Of the format; a newer one is found too, since its checksum is made the same way. */
  readonly version: number;
  readonly slotSequence: number;
  readonly blockSequence: number;
  readonly position: number;
  readonly payloadBytes: number;
  readonly writeStart: number;
}

export interface ScanIdentity {
  readonly lane: number;
  readonly storeId: Uint8Array;
}

/** The block at `position` of the slot image in `bytes`; `undefined` when there is no valid one. */
export function blockAt(bytes: Uint8Array, position: number, identity: ScanIdentity): FoundBlock | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(position + 8, true) !== BLOCK_MAGIC) return undefined;
  const header = readBlockHeader(view, position);
  const { slotSequence, blockSequence, payloadBytes, writeStart } = header;
  const end = position + BLOCK_HEADER_BYTES + payloadBytes;
  if (header.version < BLOCK_VERSION || header.lane !== identity.lane) return undefined;
  if (header.position !== position || end > bytes.byteLength) return undefined;
  if (Number.isNaN(slotSequence) || Number.isNaN(blockSequence) || writeStart > position) return undefined;
  if (header.version === BLOCK_VERSION && view.getUint32(position + BLOCK_RESERVED, true) !== 0) return undefined;
  if (!bytesEqual(header.storeId, identity.storeId)) return undefined;
  const seed = blockSeed(slotSequence, position);
  if (xxh64(bytes.subarray(position + BLOCK_CHECKED_FROM, end), seed) !== header.checksum) return undefined;
  return { version: header.version, slotSequence, blockSequence, position, payloadBytes, writeStart };
}

/** Told of each block of which only the header is there: the filling it claims. */
export type TornVisitor = (slotSequence: number) => void;

/**
 * All valid blocks of the image, in order of position. Where none starts, the search goes on at the next page: a
 * damaged length must not hide the blocks behind it.
 */
export function findBlocks(bytes: Uint8Array, identity: ScanIdentity, torn?: TornVisitor): FoundBlock[] {
  const found: FoundBlock[] = [];
  let position = FIRST_BLOCK_POSITION;
  while (position + BLOCK_HEADER_BYTES <= bytes.byteLength) {
    const block = blockAt(bytes, position, identity);
    if (block === undefined) {
      const claimed = torn === undefined ? NaN : claimedFilling(bytes, position, identity);
      if (!Number.isNaN(claimed)) torn?.(claimed);
      position += PAGE_BYTES;
    } else {
      found.push(block);
      position += blockBytes(block.payloadBytes);
    }
  }
  return found;
}

/** The filling that a header without a valid checksum names; `NaN` when there is no header of this lane. */
function claimedFilling(bytes: Uint8Array, position: number, { lane, storeId }: ScanIdentity): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(position + 8, true) !== BLOCK_MAGIC) return NaN;
  const header = readBlockHeader(view, position);
  const ours = header.lane === lane && header.position === position && bytesEqual(header.storeId, storeId);
  return ours ? header.slotSequence : NaN;
}
