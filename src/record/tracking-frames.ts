/** Tracking out of frames: what a WAL frame or a chunk's frame says about consumers and publishers. */
import { FRAME_HEADER_BYTES, FRAME_KIND } from './frame-format.ts';
import type { FrameHeader } from './frame-reader.ts';
import { decodeTracking, readPublisherExtension, TRACKING_ENTRY, type TrackingEntry } from './tracking-format.ts';

/** Length of the entries, in front of them in a tracking frame. */
export const TRACKING_LENGTH_BYTES = 4;

/** Entries that the frame carries, in order; none for a frame without tracking or with damaged tracking. */
export function trackingIn(view: DataView, at: number, header: FrameHeader): TrackingEntry[] {
  const content = at + FRAME_HEADER_BYTES;
  if (header.kind === FRAME_KIND.tracking) {
    const room = header.frameBytes - FRAME_HEADER_BYTES - TRACKING_LENGTH_BYTES;
    const length = room < 0 ? 0 : view.getUint32(content, true);
    if (length > room) return [];
    const start = view.byteOffset + content + TRACKING_LENGTH_BYTES;
    return decodeTracking(new Uint8Array(view.buffer, start, length)) ?? [];
  }
  if (header.kind !== FRAME_KIND.records || header.extensionBytes === 0 || header.recordCount === 0) return [];
  const mark = readPublisherExtension(view, content, header.extensionBytes);
  if (mark === undefined || mark.reference === '') return [];
  const offset = header.firstOffset + header.offsetSpan - 1;
  return [{ type: TRACKING_ENTRY.publisher, ...mark, offset }];
}
