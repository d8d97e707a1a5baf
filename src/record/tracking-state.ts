/**
 * What a stream knows of its consumers and publishers: entries applied in log order. Pure data, the same in the writer,
 * in the flush and in a reader that loads a snapshot and the deltas behind it.
 */
import { PUBLISHERS_MAX } from '../limits/limits.ts';
import { TRACKING_ENTRY, trackingBytes, type TrackingEntry } from './tracking-format.ts';

export interface PublisherMark {
  readonly publishingId: number;
  /** Offset of the record with that id. */
  readonly offset: number;
}

export class TrackingState {
  readonly #offsets = new Map<string, number>();
  /** Those that published last come last: the first one is the first to be evicted. */
  readonly #publishers = new Map<string, PublisherMark>();

  /** By consumer. */
  get offsets(): ReadonlyMap<string, number> {
    return this.#offsets;
  }

  /** By publisher. */
  get publishers(): ReadonlyMap<string, PublisherMark> {
    return this.#publishers;
  }

  get isEmpty(): boolean {
    return this.#offsets.size === 0 && this.#publishers.size === 0;
  }

  apply(entries: Iterable<TrackingEntry>): void {
    for (const entry of entries) {
      if (entry.type === TRACKING_ENTRY.offset) this.#offsets.set(entry.reference, entry.offset);
      else if (entry.type === TRACKING_ENTRY.offsetRemoved) this.#offsets.delete(entry.reference);
      else if (entry.type === TRACKING_ENTRY.publisherRemoved) this.#publishers.delete(entry.reference);
      else if (entry.type === TRACKING_ENTRY.cut) this.cut(entry.offset);
      else this.published(entry.reference, entry.publishingId, entry.offset);
    }
  }

  /** A snapshot replaces everything. */
  replace(entries: Iterable<TrackingEntry>): void {
    this.#offsets.clear();
    this.#publishers.clear();
    this.apply(entries);
  }

  /** A publisher's record is in the log. With one publisher too many, the one that published least recently goes. */
  published(reference: string, publishingId: number, offset: number): void {
    this.#publishers.delete(reference);
    this.#publishers.set(reference, { publishingId, offset });
    if (this.#publishers.size <= PUBLISHERS_MAX) return;
    const [least] = this.#publishers.keys();
    this.#publishers.delete(least as string);
  }

  /** Consumers whose offset lies below the log start are stale: there is nothing for them to go on from. */
  evictBelow(firstOffset: number): void {
    for (const [reference, offset] of this.#offsets) if (offset < firstOffset) this.#offsets.delete(reference);
  }

  /**
   * The stream was truncated and goes on at `nextOffset`: consumers beyond it go back to its end, and publishers whose
   * last record is cut are forgotten, for a mark must never outlive its record.
   */
  cut(nextOffset: number): void {
    for (const [reference, offset] of this.#offsets) {
      if (offset < nextOffset) continue;
      if (nextOffset === 0) this.#offsets.delete(reference);
      else this.#offsets.set(reference, nextOffset - 1);
    }
    for (const [reference, { offset }] of this.#publishers) {
      if (offset >= nextOffset) this.#publishers.delete(reference);
    }
  }

  /** The whole state as entries. */
  snapshot(): TrackingEntry[] {
    const entries: TrackingEntry[] = [];
    for (const [reference, offset] of this.#offsets) entries.push({ type: TRACKING_ENTRY.offset, reference, offset });
    for (const [reference, mark] of this.#publishers) {
      entries.push({ type: TRACKING_ENTRY.publisher, reference, ...mark });
    }
    return entries;
  }

  get snapshotBytes(): number {
    return trackingBytes(this.snapshot());
  }
}

/**
 * The same in fewer words: only the last entry for each reference, and in front of them the lowest cut. What is left of
 * the entries that came before a cut lies below it, so that the cut may come first.
 */
export function coalesce(entries: readonly TrackingEntry[]): TrackingEntry[] {
  // Most streams of a flush track nothing: two maps for each of thousands are worth saving.
  if (entries.length === 0) return [];
  let cut = Infinity;
  const consumers = new Map<string, TrackingEntry>();
  const publishers = new Map<string, TrackingEntry>();
  for (const entry of entries) {
    if (entry.type === TRACKING_ENTRY.cut) {
      cut = Math.min(cut, entry.offset);
      for (const group of [consumers, publishers]) {
        for (const [reference, last] of group) group.set(reference, cutEntry(last, entry.offset));
      }
      continue;
    }
    const isPublisher = entry.type === TRACKING_ENTRY.publisher || entry.type === TRACKING_ENTRY.publisherRemoved;
    const group = isPublisher ? publishers : consumers;
    group.delete(entry.reference);
    group.set(entry.reference, entry);
  }
  const last = [...consumers.values(), ...publishers.values()];
  return cut === Infinity ? last : [{ type: TRACKING_ENTRY.cut, offset: cut }, ...last];
}

/** What an entry comes to when the stream is cut at `offset`. */
function cutEntry(entry: TrackingEntry, offset: number): TrackingEntry {
  if (entry.type === TRACKING_ENTRY.publisher && entry.offset >= offset) {
    return { type: TRACKING_ENTRY.publisherRemoved, reference: entry.reference };
  }
  if (entry.type !== TRACKING_ENTRY.offset || entry.offset < offset) return entry;
  const { reference } = entry;
  if (offset === 0) return { type: TRACKING_ENTRY.offsetRemoved, reference };
  return { type: TRACKING_ENTRY.offset, reference, offset: offset - 1 };
}
