/** What may be set per stream. */

export type Compression = 'lz4' | 'none';
export type Cleanup = 'delete' | 'compact';

export interface Retention {
  /** User bytes to keep at least; older runs go once the rest holds this much. Unlimited when absent. */
  readonly maxBytes?: number;
  /** Milliseconds to keep a record after its timestamp, also of a stream that is idle. Unlimited when absent. */
  readonly maxAge?: number;
}

export interface StreamConfig {
  /** Codec of chunks written from now on. Default `lz4`. */
  readonly compression: Compression;
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
  readonly name: string;
  readonly config: StreamConfig;
}

export const STREAM_CONFIG_DEFAULT: StreamConfig = { compression: 'lz4', retention: {}, cleanup: 'delete' };
