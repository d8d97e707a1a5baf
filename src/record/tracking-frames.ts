/** Tracking out of frames: what a WAL frame or a chunk's frame says about consumers and publishers. */
import { alignUp } from '../base/bytes.ts';
import { FRAME_ALIGNMENT, FRAME_HEADER_BYTES, FRAME_KIND } from './frame-format.ts';
import type { FrameHeader } from './frame-reader.ts';
import {
  decodeTracking,
  encodeTracking,
  readPublisherExtension,
  TRACKING_ENTRY,
  type TrackingEntry,
} from './tracking-format.ts';

/** Length of the entries, in front of them in a tracking frame. */
const TRACKING_LENGTH_BYTES = 4;

/** Bytes that a frame with `entriesBytes` of entries takes in the log. */
export function trackingFrameBytes(entriesBytes: number): number {
  return alignUp(FRAME_HEADER_BYTES + TRACKING_LENGTH_BYTES + entriesBytes, FRAME_ALIGNMENT);
}

/** A tracking frame's content: the length of the entries, then the entries. */
export function frameContent(entries: readonly TrackingEntry[]): Uint8Array {
  const encoded = encodeTracking(entries);
  const content = new Uint8Array(TRACKING_LENGTH_BYTES + encoded.length);
  new DataView(content.buffer).setUint32(0, encoded.length, true);
  content.set(encoded, TRACKING_LENGTH_BYTES);
  return content;
}

/**
 * What the frame says about tracking, in order; nothing for a frame without tracking or with damaged tracking. A
 * truncation says that the stream was cut.
 */
export function trackingIn(view: DataView, at: number, header: FrameHeader): TrackingEntry[] {
  const content = at + FRAME_HEADER_BYTES;
  if (header.kind === FRAME_KIND.tracking) {
    const room = header.frameBytes - FRAME_HEADER_BYTES - TRACKING_LENGTH_BYTES;
    const length = room < 0 ? 0 : view.getUint32(content, true);
    if (length > room) return [];
    const start = view.byteOffset + content + TRACKING_LENGTH_BYTES;
    return decodeTracking(new Uint8Array(view.buffer, start, length)) ?? [];
  }
  if (header.kind === FRAME_KIND.truncation) return [{ type: TRACKING_ENTRY.cut, offset: header.firstOffset }];
  if (header.kind !== FRAME_KIND.records || header.extensionBytes === 0 || header.recordCount === 0) return [];
  const mark = readPublisherExtension(view, content, header.extensionBytes);
  if (mark === undefined || mark.reference === '') return [];
  const offset = header.firstOffset + header.offsetSpan - 1;
  return [{ type: TRACKING_ENTRY.publisher, ...mark, offset }];
}
