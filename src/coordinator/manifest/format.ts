/**
 * Blocks: what all manifest files are made of. A log is a chain of blocks of events, a snapshot is a chain of blocks of
 * rows, and CURRENT and LAST-CLOSE are single blocks. See `docs/formats/manifest.md`.
 *
 * ```
 *   0 checksum u64       xxh64 of bytes [8, 64 + payloadBytes), seeded by the position of this header in its file
 *   8 magic u32          "MRMB"
 *  12 version u16
 *  14 kind u16           what the payload is
 *  16 store id 16 B
 *  32 file number u64    the same for a snapshot, its log, and the CURRENT that names them
 *  40 sequence u64       of the block in its file, from 0
 *  48 previous u64       checksum of the block before; a log continues its snapshot, CURRENT names the snapshot's last
 *  56 payload bytes u32
 *  60 flags u32          bit 0: the last block of a snapshot
 *  64 payload, then zeros up to a multiple of 8
 * ```
 */
import { alignUp } from '../../base/bytes.ts';

export const BLOCK_MAGIC = 0x424d524d;
export const BLOCK_VERSION = 1;
export const BLOCK_HEADER_BYTES = 64;
/** The checksum covers everything from here to the end of the payload. */
export const BLOCK_CHECKED_FROM = 8;
export const BLOCK_ALIGNMENT = 8;
export const STORE_ID_BYTES = 16;
/** No block is larger, whatever its header claims. One commit of a million runs with their parents fits. */
export const BLOCK_PAYLOAD_BYTES_MAX: number = 256 * 1024 * 1024;

export const BLOCK_KIND = { current: 1, snapshot: 2, log: 3, close: 4 } as const;
export type BlockKind = (typeof BLOCK_KIND)[keyof typeof BLOCK_KIND];

export const BLOCK_FLAG = { last: 1 } as const;

/** Field positions inside a header. */
export const BLOCK_FIELD = {
  checksum: 0,
  magic: 8,
  version: 12,
  kind: 14,
  storeId: 16,
  fileNumber: 32,
  sequence: 40,
  previous: 48,
  payloadBytes: 56,
  flags: 60,
} as const;

/** The bytes a block takes in its file. */
export function blockBytes(payloadBytes: number): number {
  return alignUp(BLOCK_HEADER_BYTES + payloadBytes, BLOCK_ALIGNMENT);
}

/** Seeds the checksum, so that a block that lies where it was not written does not pass. */
export function blockSeed(position: number): bigint {
  return BigInt(position);
}

/** Names in the manifest directory: built and parsed here only. */
export const CURRENT_NAME = 'CURRENT';
/** How far the log reached when it was last closed. */
export const CLOSE_MARK_NAME = 'LAST-CLOSE';

const NUMBER_DIGITS = 16;
const NAME_PATTERN = /^([0-9]{16})\.(snapshot|log)$/;

export type ManifestFileKind = 'snapshot' | 'log';

/** `0000000000000001.snapshot`, `0000000000000001.log` */
export function manifestFileName(fileNumber: number, kind: ManifestFileKind): string {
  return `${String(fileNumber).padStart(NUMBER_DIGITS, '0')}.${kind}`;
}

export function parseManifestFileName(name: string): { fileNumber: number; kind: ManifestFileKind } | undefined {
  const match = NAME_PATTERN.exec(name);
  if (match === null) return undefined;
  const fileNumber = Number(match[1]);
  return Number.isSafeInteger(fileNumber) ? { fileNumber, kind: match[2] as ManifestFileKind } : undefined;
}
