/** One record among frames: a point read needs no index of all the others, and keeps nothing of them alive. */
import { segmentFramesCorrupt, type BatchOrigin, type RecordBatch, type StreamRecord } from './record-batch.ts';
import { FRAME_KIND } from './frame-format.ts';
import { walkFrames } from './frame-reader.ts';
import { type RecordPlace, walkRecords } from './record-walk.ts';

/**
 * The record at `offset` among `bytes`, whole frames of one stream; `undefined` when they hold none. Key and value are
 * copies: `bytes` may be used again at once. Frames behind the record are not looked at. Throws
 * `ERR_MILLRACE_SEGMENT_CORRUPT` when a length in front of it does not fit.
 */
export function findRecord(bytes: Uint8Array, origin: BatchOrigin, offset: number): StreamRecord | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const corrupt = segmentFramesCorrupt(origin);
  let found: StreamRecord | undefined;
  walkFrames(view, 0, bytes.byteLength, corrupt, (header, at) => {
    const delta = offset - origin.baseOffset - header.firstOffset;
    if (delta >= header.offsetSpan) return true;
    if (delta < 0 || header.kind !== FRAME_KIND.records) return false;
    walkRecords(view, at, header, corrupt, (place) => {
      if (place.delta < delta) return true;
      if (place.delta === delta) found = recordAt(bytes, place, offset, header.epoch);
      return false;
    });
    return false;
  });
  return found;
}

/** The record at `offset` of a batch that others read, too: key and value are copies, as of `findRecord`. */
export function copyRecord(batch: RecordBatch, offset: number): StreamRecord | undefined {
  const found = batch.find(offset);
  if (found === undefined) return undefined;
  const { timestamp, key, value, epoch } = found;
  return { offset, timestamp, key: key && Buffer.from(key), value: value && Buffer.from(value), epoch };
}

function recordAt(bytes: Uint8Array, place: RecordPlace, offset: number, epoch: number): StreamRecord {
  const { contentAt, keyBytes, valueBytes, timestamp } = place;
  const valueAt = contentAt + Math.max(0, keyBytes);
  const key = keyBytes < 0 ? null : Buffer.from(bytes.subarray(contentAt, valueAt));
  const value = valueBytes < 0 ? null : Buffer.from(bytes.subarray(valueAt, valueAt + valueBytes));
  return { offset, timestamp, key, value, epoch };
}
