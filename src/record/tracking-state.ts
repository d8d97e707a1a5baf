/**
 * What a stream knows of its consumers and publishers: entries applied in log order. Pure data, the same in the writer,
 * in the flush and in a reader that loads a snapshot and the deltas behind it.
 */
import { TRACKING_ENTRY, trackingBytes, type TrackingEntry } from './tracking-format.ts';

export interface PublisherMark {
  readonly publishingId: number;
  /** Offset of the record with that id. */
  readonly offset: number;
}

export class TrackingState {
  readonly offsets: Map<string, number> = new Map();
  readonly publishers: Map<string, PublisherMark> = new Map();

  get isEmpty(): boolean {
    return this.offsets.size === 0 && this.publishers.size === 0;
  }

  apply(entries: Iterable<TrackingEntry>): void {
    for (const entry of entries) {
      if (entry.type === TRACKING_ENTRY.offset) this.offsets.set(entry.reference, entry.offset);
      else if (entry.type === TRACKING_ENTRY.offsetRemoved) this.offsets.delete(entry.reference);
      else if (entry.type === TRACKING_ENTRY.publisherRemoved) this.publishers.delete(entry.reference);
      else this.publishers.set(entry.reference, { publishingId: entry.publishingId, offset: entry.offset });
    }
  }

  /** A snapshot replaces everything. */
  replace(entries: Iterable<TrackingEntry>): void {
    this.offsets.clear();
    this.publishers.clear();
    this.apply(entries);
  }

  /** Consumers whose offset lies below the log start are stale: there is nothing for them to go on from. */
  evictBelow(firstOffset: number): void {
    for (const [reference, offset] of this.offsets) if (offset < firstOffset) this.offsets.delete(reference);
  }

  /**
   * What has to be said when the stream is cut to end at `nextOffset`: consumers beyond it go back to its end, and
   * publishers whose last record is cut are forgotten, for a mark must never outlive its record.
   */
  cut(nextOffset: number): TrackingEntry[] {
    const entries: TrackingEntry[] = [];
    for (const [reference, offset] of this.offsets) {
      if (offset < nextOffset) continue;
      if (nextOffset === 0) entries.push({ type: TRACKING_ENTRY.offsetRemoved, reference });
      else entries.push({ type: TRACKING_ENTRY.offset, reference, offset: nextOffset - 1 });
    }
    for (const [reference, { offset }] of this.publishers) {
      if (offset >= nextOffset) entries.push({ type: TRACKING_ENTRY.publisherRemoved, reference });
    }
    this.apply(entries);
    return entries;
  }

  /** The whole state as entries. */
  snapshot(): TrackingEntry[] {
    const entries: TrackingEntry[] = [];
    for (const [reference, offset] of this.offsets) entries.push({ type: TRACKING_ENTRY.offset, reference, offset });
    for (const [reference, mark] of this.publishers) {
      entries.push({ type: TRACKING_ENTRY.publisher, reference, ...mark });
    }
    return entries;
  }

  get snapshotBytes(): number {
    return trackingBytes(this.snapshot());
  }
}

/** Entries with only the last one for each reference left: what a trailer holds of many deltas. */
export function coalesce(entries: Iterable<TrackingEntry>): TrackingEntry[] {
  const last = new Map<string, TrackingEntry>();
  for (const entry of entries) {
    const group = entry.type === TRACKING_ENTRY.offset || entry.type === TRACKING_ENTRY.offsetRemoved ? 'c' : 'p';
    const name = group + entry.reference;
    last.delete(name);
    last.set(name, entry);
  }
  return [...last.values()];
}
