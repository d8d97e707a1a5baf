/**
 * The publishers of a stream that this thread holds. The store is asked for each once: from then on all their records
 * come from here.
 */
import { type PublisherMark, TrackingState } from '../../record/tracking-state.ts';
import type { PublisherReferences } from '../../stream/stream-references.ts';

export class HeldPublishers implements PublisherReferences {
  readonly #ask: (reference: string) => Promise<PublisherMark | undefined>;
  readonly #state = new TrackingState();
  /** By reference. One promise for all who wait, so that they go on in the order in which they came. */
  readonly #known = new Map<string, Promise<void>>();

  constructor(ask: (reference: string) => Promise<PublisherMark | undefined>) {
    this.#ask = ask;
  }

  ready(reference: string): Promise<void> {
    let known = this.#known.get(reference);
    if (known === undefined) {
      known = this.#load(reference);
      this.#known.set(reference, known);
      known.catch(() => this.#known.delete(reference));
    }
    return known;
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
    if (mark !== undefined) this.#state.published(reference, mark.publishingId, mark.offset);
  }
}
