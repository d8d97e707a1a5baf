/** What every appending call takes. */
export interface AppendControl {
  /**
   * Ends the waiting with `ERR_MILLRACE_ABORTED`. Records that were taken by then may become durable all the same: read
   * the stream, or append through a publisher, to know.
   */
  readonly signal?: AbortSignal;
}
