/**
 * Judges the end of a segment: tail, footer header, run table and chunk index. Pure functions over bytes that nobody
 * has vouched for; what comes out can be indexed and looked up without further checks.
 */
import { bytesEqual, PAGE_BYTES, readUint64, viewOf } from '../base/bytes.ts';
import { xxh64Parts } from '../codec/checksum.ts';
import { OBJECT_BYTES_MAX, SEGMENT_CHUNKS_MAX, SEGMENT_RUNS_MAX } from '../limits/limits.ts';
import { CHUNK_ALIGNMENT, CHUNK_HEADER_BYTES } from './chunk-format.ts';
import { foreignSegment, segmentCorrupt, segmentTooNew } from './errors.ts';
import { SegmentFooter } from './footer.ts';
import {
  type ExpectedSegment,
  FOOTER_FIELD,
  FOOTER_HEADER_BYTES,
  FOOTER_MAGIC,
  type FooterRun,
  INDEX_ENTRY_BYTES,
  NO_TIMESTAMP,
  objectKeyHash,
  RUN_BYTES,
  RUN_FLAG,
  SEGMENT_HEADER_BYTES,
  SEGMENT_VERSION,
  STORE_ID_BYTES,
  TAIL_BYTES,
  TAIL_CHECKED_TO,
  TAIL_FIELD,
  TAIL_MAGIC,
} from './format.ts';

/** Where the footer lies, and what its checksum must be. */
export interface FooterPlace {
  readonly position: number;
  /** Without the tail. */
  readonly bytes: number;
  readonly checksum: bigint;
}

/** The smallest segment is one page. */
export function checkSegmentSize(size: number, objectKey: string): void {
  const possible = size >= PAGE_BYTES && size <= OBJECT_BYTES_MAX && size % PAGE_BYTES === 0;
  if (possible) return;
  throw segmentCorrupt(objectKey, size, `expected a size in whole pages of ${PAGE_BYTES} bytes, found ${size}`);
}

/** Reads the tail, the last bytes of `end`, which are the last bytes of a segment of `size` bytes. */
export function parseTail(end: Uint8Array, size: number, objectKey: string): FooterPlace {
  const at = end.length - TAIL_BYTES;
  const tailPosition = size - TAIL_BYTES;
  const view = viewOf(end);
  const magic = view.getUint32(at + TAIL_FIELD.magic, true);
  if (magic !== TAIL_MAGIC) {
    const problem = `expected the magic of a tail, ${TAIL_MAGIC.toString(16)}, found ${magic.toString(16)}`;
    throw segmentCorrupt(objectKey, tailPosition, problem);
  }
  checkVersion(view.getUint16(at + TAIL_FIELD.version, true), tailPosition, objectKey);
  const position = readUint64(view, at + TAIL_FIELD.footerPosition);
  const bytes = view.getUint32(at + TAIL_FIELD.footerBytes, true);
  const largest = FOOTER_HEADER_BYTES + SEGMENT_RUNS_MAX * RUN_BYTES + SEGMENT_CHUNKS_MAX * INDEX_ENTRY_BYTES;
  const plausible =
    position >= SEGMENT_HEADER_BYTES &&
    position + bytes === tailPosition &&
    bytes >= FOOTER_HEADER_BYTES &&
    bytes <= largest;
  if (!plausible) {
    const problem = `expected a footer that ends at ${tailPosition}, found one of ${bytes} bytes at ${position}`;
    throw segmentCorrupt(objectKey, tailPosition, problem);
  }
  const tail = end.subarray(at);
  checkZeros(tail, TAIL_FIELD.reserved, TAIL_FIELD.checksum, tailPosition, objectKey);
  checkZeros(tail, TAIL_FIELD.lastReserved, TAIL_FIELD.magic, tailPosition, objectKey);
  return { position, bytes, checksum: view.getBigUint64(at + TAIL_FIELD.checksum, true) };
}

/** Reads the footer from `end`, the last bytes of the segment, which begin at or before it. */
export function parseFooter(end: Uint8Array, place: FooterPlace, expected: ExpectedSegment): SegmentFooter {
  const { objectKey } = expected;
  const footer = end.subarray(end.length - TAIL_BYTES - place.bytes, end.length - TAIL_BYTES);
  const tail = end.subarray(end.length - TAIL_BYTES);
  const found = xxh64Parts([footer, tail.subarray(0, TAIL_CHECKED_TO)]);
  if (found !== place.checksum) {
    const problem = `expected footer checksum ${place.checksum.toString(16)}, found ${found.toString(16)}`;
    throw segmentCorrupt(objectKey, place.position, problem);
  }
  checkFooterHeader(footer, place, expected);
  const parsed = new SegmentFooter(footer, place.position, place.checksum);
  checkRunTable(parsed, place.position, objectKey);
  return parsed;
}

/** Throws unless the bytes in [`from`, `to`) of `bytes`, which lie at `position`, are zero. */
export function checkZeros(bytes: Uint8Array, from: number, to: number, position: number, objectKey: string): void {
  const at = bytes.subarray(from, to).findIndex((byte) => byte !== 0);
  if (at >= 0) throw segmentCorrupt(objectKey, position + from + at, 'expected zero in a reserved field');
}

/** Throws unless `version` is one this code reads. */
export function checkVersion(version: number, position: number, objectKey: string): void {
  if (version > SEGMENT_VERSION) throw segmentTooNew(objectKey, position, version, SEGMENT_VERSION);
  if (version < 1) throw segmentCorrupt(objectKey, position, `expected a format version from 1, found ${version}`);
}

/** Throws unless the store id and object key hash are those of the segment that is expected. */
export function checkIdentity(storeId: Uint8Array, keyHash: bigint, position: number, expected: ExpectedSegment): void {
  if (expected.storeId === 'any') return;
  if (!bytesEqual(storeId, expected.storeId)) throw foreignSegment(expected.objectKey, expected.storeId, storeId);
  const wanted = objectKeyHash(expected.objectKey);
  if (keyHash === wanted) return;
  const hashes = `expected the object key hash ${wanted.toString(16)}, found ${keyHash.toString(16)}`;
  throw segmentCorrupt(expected.objectKey, position, `${hashes}: the object lies under another's key`);
}

function checkFooterHeader(footer: Uint8Array, place: FooterPlace, expected: ExpectedSegment): void {
  const { objectKey } = expected;
  const view = viewOf(footer);
  if (view.getUint32(FOOTER_FIELD.magic, true) !== FOOTER_MAGIC) {
    throw segmentCorrupt(objectKey, place.position, `expected the magic of a footer, ${FOOTER_MAGIC.toString(16)}`);
  }
  checkVersion(view.getUint16(FOOTER_FIELD.version, true), place.position, objectKey);
  const storeId = footer.subarray(FOOTER_FIELD.storeId, FOOTER_FIELD.storeId + STORE_ID_BYTES);
  checkIdentity(storeId, view.getBigUint64(FOOTER_FIELD.objectKeyHash, true), place.position, expected);
  checkZeros(footer, FOOTER_FIELD.reserved, FOOTER_FIELD.storeId, place.position, objectKey);
  checkZeros(footer, FOOTER_FIELD.lastReserved, FOOTER_HEADER_BYTES, place.position, objectKey);
  const runs = view.getUint32(FOOTER_FIELD.runs, true);
  const chunks = view.getUint32(FOOTER_FIELD.chunks, true);
  const bytes = FOOTER_HEADER_BYTES + runs * RUN_BYTES + chunks * INDEX_ENTRY_BYTES;
  if (runs > SEGMENT_RUNS_MAX || chunks > SEGMENT_CHUNKS_MAX || bytes !== place.bytes) {
    const problem = `expected ${place.bytes} bytes of footer, found ${runs} runs and ${chunks} chunks`;
    throw segmentCorrupt(objectKey, place.position, problem);
  }
  const runsEnd = readUint64(view, FOOTER_FIELD.runsEnd);
  const padding = place.position - runsEnd;
  if (!(runsEnd >= SEGMENT_HEADER_BYTES && padding >= 0 && padding < PAGE_BYTES)) {
    throw segmentCorrupt(objectKey, place.position, `expected the runs to end within a page before, found ${runsEnd}`);
  }
}

/** Runs must follow each other without a gap in bytes and in chunks, and in the order of stream and offset. */
function checkRunTable(footer: SegmentFooter, position: number, objectKey: string): void {
  let byteOffset = SEGMENT_HEADER_BYTES;
  let firstChunk = 0;
  let last: FooterRun | undefined;
  let index = 0;
  for (const run of footer.listRuns()) {
    const problem =
      extrasProblem(footer, index) ??
      placeProblem(run, byteOffset, firstChunk, footer) ??
      summaryProblem(run) ??
      followProblem(run, last) ??
      indexProblem(run, footer);
    if (problem !== undefined) {
      const at = position + FOOTER_HEADER_BYTES + index * RUN_BYTES;
      throw segmentCorrupt(objectKey, at, `run ${index} of stream ${run.streamId} claims ${problem}`);
    }
    byteOffset += run.byteLength;
    firstChunk += run.chunks;
    last = run;
    index += 1;
  }
  if (byteOffset !== footer.runsEnd || firstChunk !== footer.chunks) {
    const problem = `expected runs up to byte ${footer.runsEnd} with ${footer.chunks} chunks`;
    throw segmentCorrupt(objectKey, position, `${problem}, found ${firstChunk} chunks up to ${byteOffset}`);
  }
}

function extrasProblem(footer: SegmentFooter, index: number): string | undefined {
  const { flags, reserved } = footer.runExtras(index);
  if ((flags & ~RUN_FLAG.relative) !== 0) return `unknown flags ${flags}`;
  return reserved === 0 ? undefined : `${reserved} in its reserved field`;
}

function placeProblem(run: FooterRun, byteOffset: number, chunk: number, footer: SegmentFooter): string | undefined {
  if (run.byteOffset !== byteOffset) return `position ${run.byteOffset} where ${byteOffset} is next`;
  if (!(run.byteLength <= footer.runsEnd - byteOffset)) return `${run.byteLength} bytes up to ${footer.runsEnd}`;
  if (run.firstChunk !== chunk) return `first chunk ${run.firstChunk} where ${chunk} is next`;
  if (run.chunks === 0 || run.chunks > footer.chunks - chunk) return `${run.chunks} chunks of ${footer.chunks}`;
  return undefined;
}

function summaryProblem(run: FooterRun): string | undefined {
  const { firstOffset, nextOffset, records, firstTimestamp, lastTimestamp, byteLength, dead } = run;
  // Comparisons with NaN are false: a field above 2^53 - 1 fails here.
  if (!(firstOffset <= nextOffset)) return `offsets from ${firstOffset} to ${nextOffset}`;
  if (!(records <= nextOffset - firstOffset)) return `${records} records over ${nextOffset - firstOffset} offsets`;
  if (!(firstTimestamp <= lastTimestamp)) return `timestamps from ${firstTimestamp} to ${lastTimestamp}`;
  if (!(run.userBytes >= 0)) return 'user bytes above 2^53 - 1';
  if (!(run.trackingBytes <= byteLength)) return `${run.trackingBytes} tracking bytes in ${byteLength}`;
  if (!(dead.records + dead.tracking <= byteLength)) return 'more dead bytes than it has';
  return run.relative && firstOffset !== 0 ? `relative offsets from ${firstOffset}` : undefined;
}

function followProblem(run: FooterRun, last: FooterRun | undefined): string | undefined {
  if (last === undefined || run.streamId > last.streamId) return undefined;
  const absolute = !run.relative && !last.relative;
  const behind = run.streamId === last.streamId && absolute && run.firstOffset >= last.nextOffset;
  return behind ? undefined : `offset ${run.firstOffset} behind offset ${last.nextOffset} of stream ${last.streamId}`;
}

/** The chunks of a run must fill its bytes, and their offsets and latest timestamps never go back. */
function indexProblem(run: FooterRun, footer: SegmentFooter): string | undefined {
  const end = run.firstChunk + run.chunks;
  if (footer.chunkPosition(run.firstChunk) !== run.byteOffset) return 'a first chunk that lies elsewhere';
  if (footer.chunkFirstOffset(run.firstChunk) !== run.firstOffset) return 'a first chunk with another offset';
  let firstOffset = run.firstOffset;
  let latestTimestamp = NO_TIMESTAMP;
  for (let index = run.firstChunk; index < end; index += 1) {
    const position = footer.chunkPosition(index);
    const next = index + 1 < end ? footer.chunkPosition(index + 1) : run.byteOffset + run.byteLength;
    if (!(next - position >= CHUNK_HEADER_BYTES) || next % CHUNK_ALIGNMENT !== 0) {
      return `chunk ${index} from ${position} to ${next}`;
    }
    const offset = footer.chunkFirstOffset(index);
    if (!(offset >= firstOffset && offset <= run.nextOffset)) return `chunk ${index} with offset ${offset}`;
    const latest = footer.chunkLatestTimestamp(index);
    if (!(latest >= latestTimestamp)) return `chunk ${index} with a latest timestamp of ${latest}`;
    firstOffset = offset;
    latestTimestamp = latest;
  }
  const expected = run.records === 0 ? NO_TIMESTAMP : run.lastTimestamp;
  return latestTimestamp === expected ? undefined : `a latest timestamp of ${latestTimestamp}, not ${expected}`;
}
