/** The first 64 bytes of a segment: who wrote it, for whoever scans it without its footer. */
import { readInt64, viewOf, writeInt64 } from '../base/bytes.ts';
import { xxh64 } from '../codec/checksum.ts';
import { segmentCorrupt } from './errors.ts';
import { checkIdentity, checkVersion, checkZeros } from './footer-parser.ts';
import {
  type ExpectedSegment,
  HEADER_CHECKED_FROM,
  HEADER_FIELD,
  objectKeyHash,
  SEGMENT_HEADER_BYTES,
  SEGMENT_MAGIC,
  SEGMENT_VERSION,
  type SegmentFacts,
  STORE_ID_BYTES,
} from './format.ts';

/** What the header says. */
export interface SegmentHeader {
  readonly version: number;
  readonly storeId: Uint8Array;
  readonly createdAt: number;
}

export function encodeSegmentHeader(facts: SegmentFacts): Uint8Array {
  const header = new Uint8Array(SEGMENT_HEADER_BYTES);
  const view = viewOf(header);
  view.setUint32(HEADER_FIELD.magic, SEGMENT_MAGIC, true);
  view.setUint16(HEADER_FIELD.version, SEGMENT_VERSION, true);
  header.set(facts.storeId, HEADER_FIELD.storeId);
  view.setBigUint64(HEADER_FIELD.objectKeyHash, objectKeyHash(facts.objectKey), true);
  writeInt64(view, HEADER_FIELD.createdAt, facts.createdAt);
  view.setBigUint64(HEADER_FIELD.checksum, xxh64(header.subarray(HEADER_CHECKED_FROM)), true);
  return header;
}

/** Reads and checks the header in the first bytes of a segment. */
export function parseSegmentHeader(bytes: Uint8Array, expected: ExpectedSegment): SegmentHeader {
  const { objectKey } = expected;
  if (bytes.length < SEGMENT_HEADER_BYTES) {
    throw segmentCorrupt(objectKey, 0, `expected a header of ${SEGMENT_HEADER_BYTES} bytes, found ${bytes.length}`);
  }
  const header = bytes.subarray(0, SEGMENT_HEADER_BYTES);
  const view = viewOf(header);
  const magic = view.getUint32(HEADER_FIELD.magic, true);
  if (magic !== SEGMENT_MAGIC) {
    const problem = `expected the magic of a segment, ${SEGMENT_MAGIC.toString(16)}, found ${magic.toString(16)}`;
    throw segmentCorrupt(objectKey, 0, problem);
  }
  const version = view.getUint16(HEADER_FIELD.version, true);
  checkVersion(version, 0, objectKey);
  const checksum = view.getBigUint64(HEADER_FIELD.checksum, true);
  const found = xxh64(header.subarray(HEADER_CHECKED_FROM));
  if (checksum !== found) {
    const problem = `expected header checksum ${checksum.toString(16)}, found ${found.toString(16)}`;
    throw segmentCorrupt(objectKey, 0, problem);
  }
  checkZeros(header, HEADER_FIELD.reserved, HEADER_FIELD.storeId, 0, objectKey);
  checkZeros(header, HEADER_FIELD.lastReserved, SEGMENT_HEADER_BYTES, 0, objectKey);
  const storeId = new Uint8Array(header.subarray(HEADER_FIELD.storeId, HEADER_FIELD.storeId + STORE_ID_BYTES));
  checkIdentity(storeId, view.getBigUint64(HEADER_FIELD.objectKeyHash, true), 0, expected);
  return { version, storeId, createdAt: readInt64(view, HEADER_FIELD.createdAt) };
}
