/**
 * The flush job: turns a filling of the ring into one segment in which each stream's records lie together. Runs in a
 * pool worker and reads the ring's memory in place.
 */
import { assert } from '../base/assert.ts';
import type { ObjectStore, ObjectStoreDescriptor } from '../object/object-store.ts';
import type { RingGeometry } from '../ring/geometry.ts';
import type { SealedSlot } from '../ring/producer.ts';
import type { SegmentRun } from '../record/run.ts';
import type { Compression } from '../record/stream-config.ts';
import { SegmentWriter } from '../segment/writer.ts';
import { RunWriter } from './run-writer.ts';
import { groupFrames, type StreamFrames } from './slot-frames.ts';
import { type SettledFrames, settleFrames, type StreamTruncation } from './stream-frames.ts';

/** What is known of a stream's consumers and publishers as a filling ends, and where the stream is by then. */
export interface TrackingSnapshot {
  /** In the form of `src/record/tracking-format.ts`. */
  readonly entries: Uint8Array;
  readonly nextOffset: number;
  readonly epoch: number;
}

/** Plain data that survives `postMessage`. */
export interface FlushJob {
  readonly type: 'flush';
  readonly ring: SharedArrayBuffer;
  readonly geometry: RingGeometry;
  readonly slot: SealedSlot;
  readonly storeId: Uint8Array;
  readonly objects: ObjectStoreDescriptor;
  readonly objectKey: string;
  readonly createdAt: number;
  /** Streams whose codec is not the default. */
  readonly compression: ReadonlyMap<number, Compression>;
  /** As of the end of the filling, by stream; also of streams that have no frame in it. */
  readonly snapshots: ReadonlyMap<number, TrackingSnapshot>;
  /** The coordinator assigns offsets: those in the frames are counted by this process. */
  readonly relative: boolean;
}

/** A run, and whether it begins with a tracking snapshot. */
export interface FlushedRun extends SegmentRun {
  readonly trackingSnapshot: boolean;
  /** First offset in the frames: differs from `firstOffset` in a relative run. */
  readonly localOffset: number;
}

/** The segment; without runs there is none, for the filling held nothing to keep. */
export interface FlushedSegment {
  readonly objectKey: string;
  readonly bytes: number;
  /** 16 lower-case hexadecimal digits. */
  readonly checksum: string;
  readonly runs: readonly FlushedRun[];
  /** Streams that go on below what older segments hold. */
  readonly truncations: readonly (StreamTruncation & { readonly streamId: number })[];
}

/** Writes the segment. Nothing is left in the object store when it rejects. */
export async function runFlushJob(job: FlushJob, objects: ObjectStore): Promise<FlushedSegment> {
  const view = new DataView(job.ring);
  const bytes = new Uint8Array(job.ring);
  const groups = withSnapshots(groupFrames(view, job.geometry, job.slot), job.snapshots);
  const { storeId, objectKey, createdAt } = job;
  const writer = new SegmentWriter(await objects.create(objectKey), { storeId, objectKey, createdAt });
  const runWriter = new RunWriter(writer, bytes, view, job.relative);
  const runs: FlushedRun[] = [];
  const truncations: FlushedSegment['truncations'][number][] = [];
  try {
    for (const { streamId, positions } of groups) {
      const snapshot = job.snapshots.get(streamId);
      const settled = positions.length === 0 ? nothingAt(snapshot) : settleFrames(view, positions);
      if (settled.truncation !== undefined) truncations.push({ streamId, ...settled.truncation });
      const compression = job.compression.get(streamId) ?? 'lz4';
      const run =
        (snapshot === undefined ? runWriter.writeNow(streamId, settled, compression) : undefined) ??
        (await runWriter.write(streamId, settled, compression, snapshot?.entries));
      if (run === undefined) continue;
      const localOffset = settled.frames[0]?.firstOffset ?? settled.nextOffset;
      runs.push(flushedRun(run, snapshot !== undefined, localOffset));
    }
    if (runs.length === 0) {
      await writer.abort();
      return { objectKey, bytes: 0, checksum: '', runs, truncations };
    }
    const segment = await writer.finish();
    const checksum = segment.checksum.toString(16).padStart(16, '0');
    return { objectKey, bytes: segment.bytes, checksum, runs, truncations };
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

/** Spelled out: a spread here costs 7 us a run, and a filling may have thousands. */
function flushedRun(run: SegmentRun, trackingSnapshot: boolean, localOffset: number): FlushedRun {
  return {
    streamId: run.streamId,
    firstOffset: run.firstOffset,
    nextOffset: run.nextOffset,
    records: run.records,
    userBytes: run.userBytes,
    trackingBytes: run.trackingBytes,
    firstTimestamp: run.firstTimestamp,
    lastTimestamp: run.lastTimestamp,
    epoch: run.epoch,
    byteOffset: run.byteOffset,
    byteLength: run.byteLength,
    chunks: run.chunks,
    trackingSnapshot,
    localOffset,
  };
}

/** Streams of which there is a snapshot and no frame are written too. */
function withSnapshots(groups: readonly StreamFrames[], snapshots: FlushJob['snapshots']): readonly StreamFrames[] {
  const held = new Set(groups.map(({ streamId }) => streamId));
  const added = [...snapshots.keys()].filter((streamId) => !held.has(streamId));
  if (added.length === 0) return groups;
  return [...groups, ...added.map((streamId) => ({ streamId, positions: [] }))].sort(
    (left, right) => left.streamId - right.streamId,
  );
}

function nothingAt(snapshot: TrackingSnapshot | undefined): SettledFrames {
  assert(snapshot !== undefined, 'a stream without frames is there for its snapshot');
  const { nextOffset, epoch } = snapshot;
  return { frames: [], nextOffset, epoch, tracking: [], truncation: undefined };
}
