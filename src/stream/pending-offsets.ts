/** Consumer offsets that are stored and not in the log yet: the last of each consumer, and what they take there. */
import { assert } from '../base/assert.ts';
import { TRACKING_ENTRY, type TrackingEntry, trackingEntryBytes } from '../record/tracking-format.ts';

export class PendingOffsets {
  /** `undefined` means removed. */
  readonly #offsets = new Map<string, number | undefined>();
  #bytes = 0;

  get size(): number {
    return this.#offsets.size;
  }

  /** Of all entries. Kept up to date: it is asked for many times a second. */
  get bytes(): number {
    return this.#bytes;
  }

  has(reference: string): boolean {
    return this.#offsets.has(reference);
  }

  get(reference: string): number | undefined {
    return this.#offsets.get(reference);
  }

  set(reference: string, offset: number | undefined): void {
    const known = this.#offsets.get(reference);
    // An entry with an offset takes the same bytes whatever the offset is.
    if (known === undefined || offset === undefined) {
      this.delete(reference);
      this.#bytes += trackingEntryBytes(entryOf(reference, offset));
    }
    this.#offsets.set(reference, offset);
  }

  delete(reference: string): void {
    if (!this.#offsets.has(reference)) return;
    this.#bytes -= trackingEntryBytes(entryOf(reference, this.#offsets.get(reference)));
    this.#offsets.delete(reference);
  }

  /** Removes entries that `first` returned. */
  remove(entries: readonly TrackingEntry[]): void {
    if (entries.length === this.size) {
      this.clear();
      return;
    }
    for (const entry of entries) {
      assert(entry.type !== TRACKING_ENTRY.cut, 'a delta holds consumers only');
      this.delete(entry.reference);
    }
  }

  clear(): void {
    this.#offsets.clear();
    this.#bytes = 0;
  }

  [Symbol.iterator](): IterableIterator<[string, number | undefined]> {
    return this.#offsets[Symbol.iterator]();
  }

  /** The first entries that take at most `maxBytes` together. */
  first(maxBytes: number): TrackingEntry[] {
    const entries: TrackingEntry[] = [];
    let bytes = 0;
    for (const [reference, offset] of this.#offsets) {
      const entry = entryOf(reference, offset);
      bytes += trackingEntryBytes(entry);
      if (bytes > maxBytes) break;
      entries.push(entry);
    }
    return entries;
  }
}

function entryOf(reference: string, offset: number | undefined): TrackingEntry {
  if (offset === undefined) return { type: TRACKING_ENTRY.offsetRemoved, reference };
  return { type: TRACKING_ENTRY.offset, reference, offset };
}
