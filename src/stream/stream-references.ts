/** A stream's consumers and publishers on the writing side, wherever they are kept. */
import type { PublisherMark } from '../coordinator/coordinator.ts';

export interface StreamReferences extends PublisherReferences {
  /** The offset stored for a consumer, durable or not; `undefined` when there is none. */
  offset(reference: string): number | undefined | Promise<number | undefined>;
  /** All consumers and their offsets. */
  offsets(): Map<string, number> | Promise<Map<string, number>>;
  /** Stores an offset, or removes the reference; resolves at once, or when it is durable. */
  store(reference: string, offset: number | undefined, durable: boolean): Promise<void>;
  /** The stream, whose log starts at `firstOffset`, was cut to end at `nextOffset`. */
  cut(nextOffset: number, firstOffset: number): void;
}

/** Of these, what publishers need. */
export interface PublisherReferences {
  /**
   * Resolves when `publisher` knows of the reference. Where it is a promise, it always is one, so that those who wait
   * go on in the order in which they came.
   */
  ready(reference: string): Promise<void> | undefined;
  /** The publisher's latest record as far as it is known here. */
  publisher(reference: string): PublisherMark | undefined;
  /** A publisher's record entered the ring. */
  published(reference: string, publishingId: number, offset: number): void;
  /** What is known of a publisher may be wrong: `ready` is to look again. */
  forget(reference: string): void;
}
