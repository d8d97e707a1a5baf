/** Cuts frames: a truncation may end a stream inside one. */
import { alignUp, viewOf } from '../base/bytes.ts';
import { ABSENT, FRAME_ALIGNMENT, FRAME_FIELD, FRAME_FLAG, FRAME_HEADER_BYTES, paddedRecord } from './frame-format.ts';
import { readFrameHeader, recordHeaderBytes } from './frame-reader.ts';

/**
 * A copy of the frame at `at` without the records from offset `end` on. Its publisher's mark goes: it names the frame's
 * last record, and that is cut.
 */
export function cutFrame(source: Uint8Array, at: number, end: number): Uint8Array {
  const view = viewOf(source);
  const header = readFrameHeader(view, at);
  const span = Math.max(0, Math.min(header.offsetSpan, end - header.firstOffset));
  const sparse = (header.flags & FRAME_FLAG.sparse) !== 0;
  const headerBytes = recordHeaderBytes(header);
  let position = at + FRAME_HEADER_BYTES + header.extensionBytes;
  let records = 0;
  let userBytes = 0;
  while (records < header.recordCount) {
    const delta = sparse ? view.getUint32(position + 12, true) : records;
    if (delta >= span) break;
    const valueBytes = view.getUint32(position, true);
    const keyBytes = view.getUint32(position + 4, true);
    const content = (valueBytes === ABSENT ? 0 : valueBytes) + (keyBytes === ABSENT ? 0 : keyBytes);
    userBytes += content;
    records += 1;
    position += paddedRecord(headerBytes + content);
  }
  const frameBytes = alignUp(position - at, FRAME_ALIGNMENT);
  const copy = new Uint8Array(frameBytes);
  copy.set(source.subarray(at, position));
  const out = viewOf(copy);
  out.setUint32(FRAME_FIELD.frameBytes, frameBytes, true);
  out.setUint32(FRAME_FIELD.recordCount, records, true);
  out.setUint32(FRAME_FIELD.offsetSpan, span, true);
  out.setUint32(FRAME_FIELD.userBytes, userBytes, true);
  copy.fill(0, FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + header.extensionBytes);
  return copy;
}
