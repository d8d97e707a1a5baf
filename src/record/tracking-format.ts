/**
 * Tracking: consumer offsets and publisher ids, as they lie in WAL frames, chunk trailers, delta chunks and snapshots.
 * See `docs/formats/tracking.md`.
 *
 * ```
 * entries   entry entry entry ...
 * entry     type u8 · reference bytes u8 · reference · [value u64 · [offset u64]]
 *           1 offset             value: the offset stored
 *           2 publisher          value: the last publishing id; offset: of its record
 *           3 offset removed     no value
 *           4 publisher removed  no value
 *           5 cut                value: the offset the stream was truncated to; no reference
 * ```
 *
 * Of several entries for one reference the last one holds. A cut takes consumers back to the end that the stream had
 * then, and forgets publishers whose last record was cut. A snapshot has the same form, with entries of the first two
 * types only, and replaces whatever came before it.
 */
import { assert } from '../base/assert.ts';
import { readUint64, writeUint64 } from '../base/bytes.ts';
import { REFERENCE_BYTES_MAX } from '../limits/limits.ts';

export const TRACKING_ENTRY = { offset: 1, publisher: 2, offsetRemoved: 3, publisherRemoved: 4, cut: 5 } as const;

export type TrackingEntry =
  | { readonly type: typeof TRACKING_ENTRY.offset; readonly reference: string; readonly offset: number }
  | {
      readonly type: typeof TRACKING_ENTRY.publisher;
      readonly reference: string;
      readonly publishingId: number;
      readonly offset: number;
    }
  | { readonly type: typeof TRACKING_ENTRY.offsetRemoved; readonly reference: string }
  | { readonly type: typeof TRACKING_ENTRY.publisherRemoved; readonly reference: string }
  | { readonly type: typeof TRACKING_ENTRY.cut; readonly offset: number };

const NO_BYTES = Buffer.alloc(0);
const ENTRY_HEADER_BYTES = 2;
const VALUE_BYTES = 8;

/** Bytes that an entry takes. */
export function trackingEntryBytes(entry: TrackingEntry): number {
  return ENTRY_HEADER_BYTES + Buffer.byteLength(referenceOf(entry)) + valueBytes(entry.type);
}

/** Bytes that entries take. */
export function trackingBytes(entries: Iterable<TrackingEntry>): number {
  let bytes = 0;
  for (const entry of entries) bytes += trackingEntryBytes(entry);
  return bytes;
}

function referenceOf(entry: TrackingEntry): string {
  return entry.type === TRACKING_ENTRY.cut ? '' : entry.reference;
}

function valueBytes(type: number): number {
  if (type === TRACKING_ENTRY.offset || type === TRACKING_ENTRY.cut) return VALUE_BYTES;
  return type === TRACKING_ENTRY.publisher ? 2 * VALUE_BYTES : 0;
}

/** Encodes entries, in order. References were checked before. */
export function encodeTracking(entries: readonly TrackingEntry[]): Uint8Array {
  if (entries.length === 0) return NO_BYTES;
  const bytes = Buffer.alloc(trackingBytes(entries));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let at = 0;
  for (const entry of entries) {
    const referenceBytes = bytes.write(referenceOf(entry), at + ENTRY_HEADER_BYTES);
    assert(referenceBytes <= REFERENCE_BYTES_MAX, 'a reference was checked before it was taken');
    bytes[at] = entry.type;
    bytes[at + 1] = referenceBytes;
    at += ENTRY_HEADER_BYTES + referenceBytes;
    if (entry.type === TRACKING_ENTRY.publisher) {
      writeUint64(view, at, entry.publishingId);
      writeUint64(view, at + VALUE_BYTES, entry.offset);
    } else if (entry.type === TRACKING_ENTRY.offset || entry.type === TRACKING_ENTRY.cut) {
      writeUint64(view, at, entry.offset);
    }
    at += valueBytes(entry.type);
  }
  assert(at === bytes.length, 'entries take the bytes that were counted');
  return bytes;
}

/** Decodes entries; `undefined` when a length does not fit or a field is out of range. */
export function decodeTracking(bytes: Uint8Array): TrackingEntry[] | undefined {
  const text = Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const entries: TrackingEntry[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (at + ENTRY_HEADER_BYTES > bytes.length) return undefined;
    const type = view.getUint8(at);
    const referenceEnd = at + ENTRY_HEADER_BYTES + view.getUint8(at + 1);
    const end = referenceEnd + valueBytes(type);
    if (end > bytes.length) return undefined;
    const reference = text.toString('utf8', at + ENTRY_HEADER_BYTES, referenceEnd);
    const entry = entryOf(view, type, reference, referenceEnd);
    if (entry === undefined) return undefined;
    entries.push(entry);
    at = end;
  }
  return entries;
}

function entryOf(view: DataView, type: number, reference: string, at: number): TrackingEntry | undefined {
  if ((type === TRACKING_ENTRY.cut) !== (reference === '')) return undefined;
  if (type === TRACKING_ENTRY.offsetRemoved || type === TRACKING_ENTRY.publisherRemoved) return { type, reference };
  if (type === TRACKING_ENTRY.offset || type === TRACKING_ENTRY.cut) {
    const offset = readUint64(view, at);
    if (Number.isNaN(offset)) return undefined;
    return type === TRACKING_ENTRY.cut ? { type, offset } : { type, reference, offset };
  }
  if (type !== TRACKING_ENTRY.publisher) return undefined;
  const publishingId = readUint64(view, at);
  const offset = readUint64(view, at + VALUE_BYTES);
  return Number.isNaN(publishingId) || Number.isNaN(offset) ? undefined : { type, reference, publishingId, offset };
}

/**
 * A publisher's mark in the extension of a records frame: the id of the frame's last record. It is part of the frame,
 * so that no crash can keep an id without its record or a record without its id.
 *
 * ```
 *  0 publishing id u64
 *  8 reference bytes u8
 *  9 reference, padded to a multiple of 8
 * ```
 */
export function publisherExtensionBytes(referenceBytes: number): number {
  return (9 + referenceBytes + 7) & ~7;
}

export function writePublisherExtension(
  bytes: Uint8Array,
  view: DataView,
  at: number,
  reference: Uint8Array,
  publishingId: number,
): void {
  writeUint64(view, at, publishingId);
  view.setUint8(at + 8, reference.length);
  bytes.set(reference, at + 9);
  bytes.fill(0, at + 9 + reference.length, at + publisherExtensionBytes(reference.length));
}

/** The mark in an extension of `length` bytes; `undefined` when it does not fit. */
export function readPublisherExtension(
  view: DataView,
  at: number,
  length: number,
): { readonly reference: string; readonly publishingId: number } | undefined {
  if (length < 9) return undefined;
  const publishingId = readUint64(view, at);
  const referenceBytes = view.getUint8(at + 8);
  if (Number.isNaN(publishingId) || referenceBytes > REFERENCE_BYTES_MAX || 9 + referenceBytes > length)
    return undefined;
  const reference = Buffer.from(view.buffer as ArrayBuffer, view.byteOffset + at + 9, referenceBytes).toString();
  return { reference, publishingId };
}
