/** How a stream is read. */

/** Where reading starts. */
export type ReadFrom =
  /** The oldest record. */
  | 'first'
  /** The newest record. */
  | 'last'
  /** Behind the newest record: only what becomes durable from now on. */
  | 'next'
  /** At this offset. */
  | number
  /** At the first record with this timestamp or a later one, in offset order. */
  | { readonly timestamp: number }
  /** Behind the offset stored for this reference; at the oldest record when there is none. */
  | { readonly reference: string };

export interface ReadOptions {
  /** Default `first`. */
  readonly from?: ReadFrom;
  /** Stop after this many records. Default unlimited. */
  readonly limit?: number;
  /** Wait for new records at the end instead of stopping. Default false. */
  readonly follow?: boolean;
  /** Ends the reading with `ERR_MILLRACE_ABORTED`. */
  readonly signal?: AbortSignal;
  /**
   * When retention or a trim has removed the next record: `error` (default) ends the reading with
   * `ERR_MILLRACE_OFFSET_OUT_OF_RANGE`; `skip` goes on at the oldest record that is left.
   */
  readonly onTrimmed?: 'error' | 'skip';
  /** Told of the offsets that `skip` passed over: [from, to). */
  readonly skipped?: (from: number, to: number) => void;
}
