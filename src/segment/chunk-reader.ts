/** Reads one chunk that lies in memory. Nothing is believed before its lengths and its checksum were checked. */
import { viewOf } from '../base/bytes.ts';
import { xxh64 } from '../codec/checksum.ts';
import { type Codec, decompress, decompressForNow } from '../codec/compression.ts';
import {
  CHUNK_CHECKED_FROM,
  CHUNK_FIELD,
  CHUNK_FLAG,
  CHUNK_HEADER_BYTES,
  CHUNK_MAGIC,
  CHUNK_TYPE,
  CHUNK_VERSION,
  chunkBytes,
  type ChunkHeader,
  chunkProblem,
  readChunkHeader,
} from './chunk-format.ts';
import { segmentCorrupt, segmentTooNew } from './errors.ts';
import { objectKeyHash } from './format.ts';

/** Where a chunk lies, and what its run adds to it. */
export interface ChunkPlace {
  readonly objectKey: string;
  /** Hash of the object key, which the checksum has in it. Default that of `objectKey`. */
  readonly keyHash?: bigint;
  /** Of the chunk in the segment. */
  readonly position: number;
  /** First offset that the coordinator assigned to a relative run. Default 0. */
  readonly base?: number;
}

/** A chunk as it is stored, with its checksum verified. */
export interface StoredChunk {
  readonly objectKey: string;
  readonly position: number;
  /** As stored, except that the base of its run was added to the first offset and frame base of a relative chunk. */
  readonly header: ChunkHeader;
  /** The whole chunk, header and padding included. */
  readonly bytes: Uint8Array;
  /** Of the content alone, without the hash of the object key: a merge that moves the chunk adds another. */
  readonly contentChecksum: bigint;
}

/** A chunk with its body uncompressed. Add `header.frameBase` to every offset in the frames of `body`. */
export interface DecodedChunk {
  readonly header: ChunkHeader;
  readonly body: Uint8Array;
  readonly trailer: Uint8Array;
}

/**
 * Reads the chunk header at `at` in `bytes` and checks it against the `room` that the chunk may take from there.
 * Throws `ERR_MILLRACE_SEGMENT_CORRUPT` or `ERR_MILLRACE_FORMAT_TOO_NEW`.
 */
export function checkedChunkHeader(bytes: Uint8Array, at: number, room: number, place: ChunkPlace): ChunkHeader {
  const { objectKey, position } = place;
  if (Math.min(room, bytes.length - at) < CHUNK_HEADER_BYTES) {
    const problem = `expected a chunk header of ${CHUNK_HEADER_BYTES} bytes, ${room} are left`;
    throw segmentCorrupt(objectKey, position, problem);
  }
  const view = viewOf(bytes);
  const magic = view.getUint32(at + CHUNK_FIELD.magic, true);
  if (magic !== CHUNK_MAGIC) {
    const problem = `expected the magic of a chunk, ${CHUNK_MAGIC.toString(16)}, found ${magic.toString(16)}`;
    throw segmentCorrupt(objectKey, position, problem);
  }
  const version = view.getUint16(at + CHUNK_FIELD.version, true);
  if (version > CHUNK_VERSION) throw segmentTooNew(objectKey, position, version, CHUNK_VERSION);
  const header = readChunkHeader(view, at);
  const problem = version < CHUNK_VERSION ? `chunk version ${version}` : chunkProblem(header, room);
  if (problem !== undefined) throw segmentCorrupt(objectKey, position, `the chunk header claims ${problem}`);
  return header;
}

/** Checks `bytes`, a whole chunk with a checked header, against its checksum. */
export function verifiedChunk(bytes: Uint8Array, header: ChunkHeader, place: ChunkPlace): StoredChunk {
  const { objectKey, position, keyHash = objectKeyHash(objectKey) } = place;
  const checksum = viewOf(bytes).getBigUint64(CHUNK_FIELD.checksum, true);
  const contentChecksum = xxh64(bytes.subarray(CHUNK_CHECKED_FROM));
  const found = contentChecksum ^ keyHash;
  if (checksum !== found) {
    const sums = `expected checksum ${checksum.toString(16)}, found ${found.toString(16)}`;
    throw segmentCorrupt(objectKey, position, `${sums} over the ${bytes.length} bytes of the chunk`);
  }
  return { objectKey, position, header: resolved(header, place), bytes, contentChecksum };
}

/** Reads and verifies the chunk at `at` in `bytes`; what follows it there does not matter. */
export function readStoredChunk(bytes: Uint8Array, at: number, place: ChunkPlace): StoredChunk {
  const header = checkedChunkHeader(bytes, at, bytes.length - at, place);
  const end = at + chunkBytes(header.storedBytes, header.trailerBytes);
  return verifiedChunk(bytes.subarray(at, end), header, place);
}

/**
 * The body of a verified chunk, uncompressed: a view of the chunk where it is stored uncompressed, else in `target`
 * where that is given and large enough, else in new memory. A caller that keeps no body reuses a target.
 */
export function chunkBody(chunk: StoredChunk, target?: Uint8Array): Uint8Array {
  return restored(chunk, (codec, stored, rawBytes) => decompress(codec, stored, rawBytes, target));
}

/** The same for who is done with the body before another chunk is decoded, in whatever part of the thread: a view. */
export function chunkBodyForNow(chunk: StoredChunk): Uint8Array {
  return restored(chunk, decompressForNow);
}

function restored(chunk: StoredChunk, decode: typeof decompressForNow): Uint8Array {
  const { codec, storedBytes, rawBytes } = chunk.header;
  const stored = chunk.bytes.subarray(CHUNK_HEADER_BYTES, CHUNK_HEADER_BYTES + storedBytes);
  try {
    return decode(codec as Codec, stored, rawBytes);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw segmentCorrupt(chunk.objectKey, chunk.position, `its body is not what the header says: ${why}`, error);
  }
}

/** The trailer of a verified chunk: a view. */
export function chunkTrailer(chunk: StoredChunk): Uint8Array {
  const from = CHUNK_HEADER_BYTES + chunk.header.storedBytes;
  return chunk.bytes.subarray(from, from + chunk.header.trailerBytes);
}

/** Tracking wherever the chunk's type keeps it; empty when it carries none. */
export function chunkTracking(chunk: StoredChunk): Uint8Array {
  return chunk.header.type === CHUNK_TYPE.records ? chunkTrailer(chunk) : chunkBody(chunk);
}

/** Reads, verifies and uncompresses the chunk at `at` in `bytes`. */
export function decodeChunk(bytes: Uint8Array, at: number, place: ChunkPlace): DecodedChunk {
  const chunk = readStoredChunk(bytes, at, place);
  return { header: chunk.header, body: chunkBody(chunk), trailer: chunkTrailer(chunk) };
}

function resolved(header: ChunkHeader, place: ChunkPlace): ChunkHeader {
  const { base = 0 } = place;
  if ((header.flags & CHUNK_FLAG.relative) === 0 || base === 0) return header;
  return { ...header, firstOffset: header.firstOffset + base, frameBase: header.frameBase + base };
}
