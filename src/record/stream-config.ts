/** What may be set per stream. */

/** Codec of chunks in segments. */
export type Compression = 'lz4' | 'none';
/** What removes records: retention alone, or also a later record of the same key. */
export type Cleanup = 'delete' | 'compact';

/** What a stream keeps. Without either bound, everything. */
export interface Retention {
  /** User bytes to keep at least; older runs go once the rest holds this much. Unlimited when absent. */
  readonly maxBytes?: number;
  /** Milliseconds to keep a record after its timestamp, also of a stream that is idle. Unlimited when absent. */
  readonly maxAge?: number;
}

/** The settings of a stream. */
export interface StreamConfig {
  /** Codec of chunks written from now on. Default `lz4`. */
  readonly compression: Compression;
  /** What it keeps. Default everything. */
  readonly retention: Retention;
  /** `delete`: retention alone removes records. `compact`: each key keeps its latest record. Default `delete`. */
  readonly cleanup: Cleanup;
  /** Milliseconds from logical deletion until the bytes are gone from every object. Off when absent. */
  readonly deletionDeadline?: number;
}

/** A stream as the coordinator knows it. */
export interface StreamDescription {
  /** Never reused, also after deletion. From 1. */
  readonly streamId: number;
  /** Unique in the store. */
  readonly name: string;
  /** Its settings. */
  readonly config: StreamConfig;
}

export const STREAM_CONFIG_DEFAULT: StreamConfig = { compression: 'lz4', retention: {}, cleanup: 'delete' };
