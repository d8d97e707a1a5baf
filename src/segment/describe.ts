/** Segments as plain objects for tools that print them: numbers and strings only. Pure: the caller reads. */
import { viewOf } from '../base/bytes.ts';
import { CHUNK_FIELD, CHUNK_FLAG, CHUNK_TYPE, trackingBytesOf } from './chunk-format.ts';
import type { StoredChunk } from './chunk-reader.ts';
import type { SegmentFooter } from './footer.ts';
import { type FooterRun, SEGMENT_VERSION } from './format.ts';

export interface SegmentDescription {
  readonly objectKey: string;
  readonly version: number;
  /** Hexadecimal. */
  readonly storeId: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Of the footer, and through it of the whole segment; hexadecimal. */
  readonly checksum: string;
  readonly chunks: number;
  /** One past the last chunk. */
  readonly runsEnd: number;
  readonly footerPosition: number;
  readonly runs: readonly FooterRun[];
}

export interface ChunkDescription {
  readonly position: number;
  /** Header, body, trailer and padding. */
  readonly bytes: number;
  readonly type: string;
  readonly codec: string;
  readonly relative: boolean;
  readonly streamId: number;
  readonly firstOffset: number;
  readonly nextOffset: number;
  readonly frameBase: number;
  readonly records: number;
  readonly firstTimestamp: number;
  readonly lastTimestamp: number;
  readonly epoch: number;
  readonly userBytes: number;
  readonly rawBytes: number;
  readonly storedBytes: number;
  readonly trailerBytes: number;
  readonly trackingBytes: number;
  /** Hexadecimal. */
  readonly checksum: string;
}

const CODEC_NAMES: readonly string[] = ['none', 'lz4'];

/** What the footer says. */
export function describeSegment(objectKey: string, footer: SegmentFooter): SegmentDescription {
  return {
    objectKey,
    version: SEGMENT_VERSION,
    storeId: Buffer.from(footer.storeId).toString('hex'),
    createdAt: footer.createdAt,
    checksum: hexadecimal(footer.checksum),
    chunks: footer.chunks,
    runsEnd: footer.runsEnd,
    footerPosition: footer.position,
    runs: [...footer.listRuns()],
  };
}

/** What a chunk's header says. */
export function describeChunk(chunk: StoredChunk): ChunkDescription {
  const { header, bytes } = chunk;
  const [type = 'unknown'] = Object.entries(CHUNK_TYPE).find(([, id]) => id === header.type) ?? [];
  return {
    position: chunk.position,
    bytes: bytes.length,
    type,
    codec: CODEC_NAMES[header.codec] ?? 'unknown',
    relative: (header.flags & CHUNK_FLAG.relative) !== 0,
    streamId: header.streamId,
    firstOffset: header.firstOffset,
    nextOffset: header.firstOffset + header.offsetSpan,
    frameBase: header.frameBase,
    records: header.recordCount,
    firstTimestamp: header.firstTimestamp,
    lastTimestamp: header.lastTimestamp,
    epoch: header.epoch,
    userBytes: header.userBytes,
    rawBytes: header.rawBytes,
    storedBytes: header.storedBytes,
    trailerBytes: header.trailerBytes,
    trackingBytes: trackingBytesOf(header),
    checksum: hexadecimal(viewOf(bytes).getBigUint64(CHUNK_FIELD.checksum, true)),
  };
}

function hexadecimal(value: bigint): string {
  return value.toString(16).padStart(16, '0');
}
