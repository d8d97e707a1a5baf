/**
 * Decides which records of a stream key compaction keeps: of each key the latest, and every record without a key. As
 * many passes over the records as the index of keys needs, and one more to let old tombstones go.
 */
import { assert } from '../base/assert.ts';
import { HASHES_END, type KeyIndex } from './key-index.ts';
import { KeptRecords } from './kept-records.ts';

/** A record with a key, as one pass sees it. Filled anew for each record. */
export interface KeyedRecord {
  /** Counts all records of the stream's runs in the job, visible or not. */
  readonly ordinal: number;
  readonly key: Uint8Array;
  readonly isTombstone: boolean;
  readonly timestamp: number;
}

/** Visits the readable records with keys, in the order of offsets. Called once for each pass. */
export type KeyedPass = (visit: (record: KeyedRecord) => void) => Promise<void>;

export interface KeySelectionOptions {
  readonly index: KeyIndex;
  /** Records of the stream's runs in the job. */
  readonly records: number;
  /**
   * The job begins at the stream's log start, up to this ordinal without a gap: no older record of a key is elsewhere.
   */
  readonly completeUpTo: number;
  /** Tombstones with an earlier timestamp go, where the job is complete. */
  readonly tombstonesBefore: number;
}

export async function selectLatest(pass: KeyedPass, options: KeySelectionOptions): Promise<KeptRecords> {
  const { index, records } = options;
  const kept = new KeptRecords(records);
  const isOld = (record: KeyedRecord): boolean =>
    record.isTombstone && record.timestamp < options.tombstonesBefore && record.ordinal < options.completeUpTo;
  let oldTombstones = false;
  let unplaced = false;
  for (let from = 0; from < HASHES_END; from = index.end) {
    index.begin(from);
    await pass((record) => {
      const before = index.put(record.key, record.ordinal);
      // A key for which there is no room keeps all its records: more than needed, and never wrong.
      if (before === undefined) unplaced = true;
      else if (before >= 0) kept.drop(before);
      assert(before === undefined || before < record.ordinal, 'records come in the order of offsets');
      oldTombstones ||= isOld(record);
    });
  }
  // Without its older records a tombstone hides nothing; those of an unplaced key are still there.
  if (!oldTombstones || unplaced) return kept;
  await pass((record) => {
    if (isOld(record)) kept.drop(record.ordinal);
  });
  return kept;
}
