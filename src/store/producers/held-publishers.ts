/**
 * The publishers of a stream that this thread holds. The store is asked for each once: from then on all their records
 * come from here.
 */
import { type PublisherMark, TrackingState } from '../../record/tracking-state.ts';
import type { PublisherReferences } from '../../stream/stream-references.ts';

export class HeldPublishers implements PublisherReferences {
  readonly #ask: (reference: string) => Promise<PublisherMark | undefined>;
  readonly #state = new TrackingState();
  readonly #loading = new Map<string, Promise<void>>();

  constructor(ask: (reference: string) => Promise<PublisherMark | undefined>) {
    this.#ask = ask;
  }

  ready(reference: string): Promise<void> {
    const loading = this.#loading.get(reference);
    if (loading !== undefined) return loading;
    if (this.#state.publishers.has(reference)) return Promise.resolve();
    const asked = this.#load(reference).finally(() => this.#loading.delete(reference));
    this.#loading.set(reference, asked);
    return asked;
  }

  publisher(reference: string): PublisherMark | undefined {
    return this.#state.publishers.get(reference);
  }

  published(reference: string, publishingId: number, offset: number): void {
    this.#state.published(reference, publishingId, offset);
  }

  forget(): void {
    // This thread alone publishes: what it knows is right.
  }

  async #load(reference: string): Promise<void> {
    const mark = await this.#ask(reference);
    // Who waited for an earlier answer may have published meanwhile.
    if (mark === undefined || this.#state.publishers.has(reference)) return;
    this.#state.published(reference, mark.publishingId, mark.offset);
  }
}
