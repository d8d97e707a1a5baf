/** What a load test does: plain data, so that it can be kept beside its results and sent to threads. */

export const PROFILES = ['steady', 'ramp', 'burst'] as const;
export type ProfileName = (typeof PROFILES)[number];

/** In front of each record: when it was due. */
export const STAMP_BYTES = 8;

export interface LoadSettings {
  readonly dir: string;
  readonly profile: ProfileName;
  /** Records a second: the rate of `steady`, the end of `ramp`, the height of `burst`. */
  readonly rate: number;
  /** Where a ramp begins, and what bursts come back to. */
  readonly lowRate: number;
  readonly seconds: number;
  /** Seconds before them, at the rate of their beginning, that are not counted. */
  readonly warmUpSeconds: number;
  /** Seconds from burst to burst; a quarter of it is the burst. */
  readonly period: number;
  readonly recordBytes: number;
  /** Records that share a call, when that many are due. */
  readonly batch: number;
  readonly streams: number;
  readonly producers: number;
  /** Producers are publishers: each record has a publishing id. */
  readonly publishers: boolean;
  /** Threads that the producers are in, each with a lane of its own; 0: the store's. */
  readonly threads: number;
  readonly followers: number;
  /** Different keys; 0 for records without one. With keys, streams are compacted by key. */
  readonly keys: number;
  /** Compaction that merges what is seconds old, so that it takes part in a short test. */
  readonly eagerCompaction: boolean;
  /** Of the ring; `undefined` for what the store has, or its default. */
  readonly slots: number | undefined;
  readonly slotBytes: number | undefined;
  /** Records sent and not yet answered; what is due beyond them waits, and its waiting counts. */
  readonly maxInFlight: number;
}
