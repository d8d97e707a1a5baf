/** What the process that is killed and the test that kills it agree on. */

/** Streams that threads take from each other. */
export const STREAMS: readonly string[] = ['a', 'b', 'c', 'd'];
