/**
 * What a stream holds, counted exactly at any moment: in segments, in the ring, and minus what a truncation has voided.
 */
import type { Coordinator, FoundRun, StreamTotals } from '../coordinator/coordinator.ts';
import type { StreamConfig, StreamDescription } from '../record/stream-config.ts';
import type { SegmentAccess } from './segment-access.ts';

const ONE_RUN = { maxRuns: 1, maxBytes: 1 };
const RUNS_AT_ONCE = { maxRuns: 256, maxBytes: Infinity };

/** What a stream holds, at the moment of the call. */
export interface StreamInfo {
  /** Name of the stream. */
  readonly name: string;
  /** Its settings. */
  readonly config: StreamConfig;
  /** Offset of the oldest record that can be read. */
  readonly firstOffset: number;
  /** Offset of the next record to be appended. */
  readonly nextOffset: number;
  /** Records below this offset are durable. */
  readonly durableOffset: number;
  /** Durable user records, counted exactly. */
  readonly records: number;
  /** Bytes of their keys and values. A run of a segment that a trim or truncation cuts counts whole. */
  readonly userBytes: number;
  /** Stored bytes of consumer offsets and publisher ids. */
  readonly trackingBytes: number;
  /** Bytes the stream takes in segments. */
  readonly storedBytes: number;
  /** Of them, those below the first offset, kept for the tracking beside them until the next snapshot. */
  readonly heldBytes: number;
  /** Segments that hold a part of the stream. */
  readonly segments: number;
  /** Runs of consecutive chunks in them. */
  readonly runs: number;
  /** Smallest timestamp in segments; `undefined` without records there. */
  readonly firstTimestamp: number | undefined;
  /** Largest timestamp in segments; `undefined` without records there. */
  readonly lastTimestamp: number | undefined;
  /** How often the stream was truncated: its records from then on carry this epoch. */
  readonly epoch: number;
}

/** Where a stream ends, or ended: by what segments hold of it, or by a truncation. */
export interface StoredEnd {
  readonly nextOffset: number;
  readonly epoch: number;
}

/** What is in the ring of a stream and in no segment that `StoredEnd` covers. */
export interface UnflushedTotals {
  readonly records: number;
  readonly userBytes: number;
  /** From here on, what segments hold is void: a truncation is still in the ring. `Infinity` without one. */
  readonly voidFrom: number;
}

export interface InfoSource {
  readonly coordinator: Coordinator;
  readonly segments: SegmentAccess;
  /** One past the last durable offset, of a stream whose segments end at `stored`. */
  durableNextOffset(streamId: number, stored: StoredEnd): number;
  /** Durable records and user bytes that are not counted in segments that end at `stored`. */
  unflushedTotals(streamId: number, stored: StoredEnd): UnflushedTotals;
}

/** `assigned`: where the stream goes on, durably or not. */
export async function streamInfo(
  source: InfoSource,
  { streamId, name, config }: StreamDescription,
  assigned: StoredEnd,
): Promise<StreamInfo> {
  for (;;) {
    const totals = await source.coordinator.streamTotals(streamId);
    // Taken together, before anything can be flushed in between.
    const unflushed = source.unflushedTotals(streamId, totals);
    const durableOffset = source.durableNextOffset(streamId, totals);
    const { nextOffset, epoch } = assigned;
    const excess = await excessOf(source, streamId, totals, unflushed.voidFrom);
    if (excess === undefined) continue;
    return {
      name,
      config,
      firstOffset: totals.firstOffset,
      nextOffset: Math.max(durableOffset, nextOffset),
      durableOffset,
      records: totals.records - excess.records + unflushed.records,
      userBytes: totals.userBytes - excess.userBytes + unflushed.userBytes,
      trackingBytes: totals.trackingBytes,
      storedBytes: totals.storedBytes + totals.heldBytes,
      heldBytes: totals.heldBytes,
      segments: totals.segments,
      runs: totals.runs,
      firstTimestamp: totals.firstTimestamp,
      lastTimestamp: totals.lastTimestamp,
      epoch: Math.max(totals.epoch, epoch),
    };
  }
}

/**
 * What `totals` count though it cannot be read: records that a truncation in the ring has voided, and those below the
 * log start of a run in which not every offset has a record. `undefined`: the stream has changed meanwhile, count
 * again.
 */
async function excessOf(
  { coordinator, segments }: InfoSource,
  streamId: number,
  totals: StreamTotals,
  voidFrom: number,
): Promise<{ records: number; userBytes: number } | undefined> {
  const { firstOffset, nextOffset } = totals;
  const excess = { records: 0, userBytes: 0 };
  const [first] = firstOffset === 0 ? [] : (await coordinator.findRuns(streamId, firstOffset, ONE_RUN)).runs;
  const isCut = first !== undefined && first.firstOffset < firstOffset && !isDense(first);
  if (firstOffset === 0 && voidFrom >= nextOffset) return excess;
  if (isCut) excess.records += await segments.countBelow(first, firstOffset);
  for (let offset = voidFrom; offset < nextOffset;) {
    const { runs } = await coordinator.findRuns(streamId, offset, RUNS_AT_ONCE);
    for (const run of runs) {
      const from = Math.max(voidFrom, run.firstOffset);
      excess.records += isDense(run) ? run.endOffset - from : run.records - (await segments.countBelow(run, from));
      if (from === run.firstOffset) excess.userBytes += run.userBytes;
      offset = run.endOffset;
    }
    if (runs.length === 0) return undefined;
  }
  const after = await coordinator.streamTotals(streamId);
  const isSame = (['firstOffset', 'nextOffset', 'epoch', 'records'] as const).every(
    (name) => after[name] === totals[name],
  );
  return isSame ? excess : undefined;
}

/** Whether every offset of the run has a record. */
function isDense({ firstOffset, nextOffset, records }: FoundRun): boolean {
  return records === nextOffset - firstOffset;
}
