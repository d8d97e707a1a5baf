/** Reads and judges blocks. A block passes only at its own place, in its own file, behind its own predecessor. */
import { bytesEqual, readUint64, viewOf } from '../../base/bytes.ts';
import { xxh64 } from '../../codec/checksum.ts';
import { MillraceError } from '../../errors/millrace-error.ts';
import type { ChainEnd, FileIdentity } from './block-writer.ts';
import type { FileWindow } from './file-window.ts';
import {
  BLOCK_ALIGNMENT,
  BLOCK_CHECKED_FROM,
  BLOCK_FIELD,
  BLOCK_FLAG,
  BLOCK_HEADER_BYTES,
  BLOCK_KIND,
  BLOCK_MAGIC,
  BLOCK_PAYLOAD_BYTES_MAX,
  BLOCK_VERSION,
  blockBytes,
  blockSeed,
  STORE_ID_BYTES,
} from './format.ts';

/** How much of a damaged file is looked through at once. */
const SEARCH_BYTES = 64 * 1024;

export interface Block {
  /** Valid until the next block is read. */
  readonly payload: Uint8Array;
  readonly last: boolean;
  readonly end: ChainEnd;
}

/** Everything a header says. */
interface Header {
  readonly checksum: bigint;
  readonly version: number;
  readonly kind: number;
  readonly storeId: Uint8Array;
  readonly fileNumber: number;
  readonly sequence: number;
  readonly previous: bigint;
  readonly payload: Uint8Array;
  readonly flags: number;
}

/** `undefined`: there is no whole block with a sound checksum at `position`. */
async function readSound(window: FileWindow, position: number): Promise<Header | undefined> {
  if (window.size - position < BLOCK_HEADER_BYTES) return undefined;
  const head = viewOf(await window.read(position, BLOCK_HEADER_BYTES));
  if (head.getUint32(BLOCK_FIELD.magic, true) !== BLOCK_MAGIC) return undefined;
  const payloadBytes = head.getUint32(BLOCK_FIELD.payloadBytes, true);
  if (payloadBytes > BLOCK_PAYLOAD_BYTES_MAX) return undefined;
  if (blockBytes(payloadBytes) > window.size - position) return undefined;
  const bytes = await window.read(position, BLOCK_HEADER_BYTES + payloadBytes);
  const view = viewOf(bytes);
  const checksum = view.getBigUint64(BLOCK_FIELD.checksum, true);
  if (xxh64(bytes.subarray(BLOCK_CHECKED_FROM), blockSeed(position)) !== checksum) return undefined;
  return {
    checksum,
    version: view.getUint16(BLOCK_FIELD.version, true),
    kind: view.getUint16(BLOCK_FIELD.kind, true),
    storeId: bytes.subarray(BLOCK_FIELD.storeId, BLOCK_FIELD.storeId + STORE_ID_BYTES),
    fileNumber: readUint64(view, BLOCK_FIELD.fileNumber),
    sequence: readUint64(view, BLOCK_FIELD.sequence),
    previous: view.getBigUint64(BLOCK_FIELD.previous, true),
    payload: bytes.subarray(BLOCK_HEADER_BYTES),
    flags: view.getUint32(BLOCK_FIELD.flags, true),
  };
}

/**
 * The block at the end of a chain, or `undefined` when none is there. Throws `ERR_MILLRACE_FOREIGN_FILE` and
 * `ERR_MILLRACE_FORMAT_TOO_NEW` for a sound block that is of another store or of a later version.
 */
export async function readBlock(window: FileWindow, identity: FileIdentity, at: ChainEnd): Promise<Block | undefined> {
  const header = await readSound(window, at.position);
  if (header === undefined) return undefined;
  refuseStranger(window, header, identity, at.position);
  const expected =
    header.version === BLOCK_VERSION &&
    header.kind === identity.kind &&
    header.fileNumber === identity.fileNumber &&
    header.flags <= BLOCK_FLAG.last &&
    header.sequence === at.sequence &&
    header.previous === at.previous;
  if (!expected) return undefined;
  const position = at.position + blockBytes(header.payload.length);
  return {
    payload: header.payload,
    last: (header.flags & BLOCK_FLAG.last) !== 0,
    end: { sequence: at.sequence + 1, previous: header.checksum, position },
  };
}

/**
 * The only block of CURRENT: which files make the manifest, and the checksum of their snapshot's last block.
 * `undefined` when it is not sound.
 */
export async function readCurrentBlock(
  window: FileWindow,
  storeId: Uint8Array,
): Promise<{ fileNumber: number; previous: bigint } | undefined> {
  const header = await readSound(window, 0);
  if (header === undefined) return undefined;
  const { fileNumber, previous, flags } = header;
  refuseStranger(window, header, { kind: BLOCK_KIND.current, storeId, fileNumber }, 0);
  if (header.kind !== BLOCK_KIND.current || flags !== 0 || !Number.isSafeInteger(fileNumber)) return undefined;
  return { fileNumber, previous };
}

function refuseStranger(window: FileWindow, header: Header, identity: FileIdentity, position: number): void {
  const details = { file: window.path, position };
  if (header.version > BLOCK_VERSION) {
    throw new MillraceError(
      'ERR_MILLRACE_FORMAT_TOO_NEW',
      `${window.path}: version ${header.version} is newer than ${BLOCK_VERSION}: open it with a newer millrace`,
      { details },
    );
  }
  if (!bytesEqual(header.storeId, identity.storeId)) {
    const owner = Buffer.from(header.storeId).toString('hex');
    throw new MillraceError('ERR_MILLRACE_FOREIGN_FILE', `${window.path} belongs to another store, ${owner}`, {
      details,
    });
  }
}

/**
 * The position of any sound block of this file behind `at`, which says that what lies there was once whole: a block is
 * written only after the one before it is durable.
 */
export async function findLaterBlock(
  window: FileWindow,
  identity: FileIdentity,
  at: ChainEnd,
): Promise<number | undefined> {
  let position = at.position + BLOCK_ALIGNMENT;
  while (position + BLOCK_HEADER_BYTES <= window.size) {
    const bytes = await window.read(position, Math.min(SEARCH_BYTES, window.size - position));
    const found = indexOfMagic(viewOf(bytes));
    if (found === undefined) {
      position += Math.max(BLOCK_ALIGNMENT, bytes.length - (bytes.length % BLOCK_ALIGNMENT) - BLOCK_HEADER_BYTES);
      continue;
    }
    position += found;
    const header = await readSound(window, position);
    if (header !== undefined && isLater(header, identity, at)) return position;
    position += BLOCK_ALIGNMENT;
  }
  return undefined;
}

/** Where in `view`, at block alignment, a header with the right magic may start. */
function indexOfMagic(view: DataView): number | undefined {
  for (let index = 0; index + BLOCK_HEADER_BYTES <= view.byteLength; index += BLOCK_ALIGNMENT) {
    if (view.getUint32(index + BLOCK_FIELD.magic, true) === BLOCK_MAGIC) return index;
  }
  return undefined;
}

function isLater(header: Header, identity: FileIdentity, at: ChainEnd): boolean {
  return (
    header.kind === identity.kind &&
    header.fileNumber === identity.fileNumber &&
    header.sequence > at.sequence &&
    bytesEqual(header.storeId, identity.storeId)
  );
}
