/**
 * The flush job: turns a filling of the ring into one segment in which each stream's records lie together. Runs in a pool
 * worker and reads the ring's memory in place.
 */
import type { ObjectStore, ObjectStoreDescriptor } from '../object/object-store.ts';
import type { RingGeometry } from '../ring/geometry.ts';
import type { SealedSlot } from '../ring/producer.ts';
import { FRAME_KIND } from '../record/frame-format.ts';
import { readFrameHeader } from '../record/frame-reader.ts';
import type { SegmentRun } from '../record/run.ts';
import type { Compression } from '../record/stream-config.ts';
import { FrameChunker } from '../segment/frame-chunker.ts';
import { SegmentWriter } from '../segment/writer.ts';
import { groupFrames, type StreamFrames } from './slot-frames.ts';

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
}

/** The segment; without runs there is none, for the filling held nothing to keep. */
export interface FlushedSegment {
  readonly objectKey: string;
  readonly bytes: number;
  /** 16 lower-case hexadecimal digits. */
  readonly checksum: string;
  readonly runs: readonly SegmentRun[];
}

/** Writes the segment. Nothing is left in the object store when it rejects. */
export async function runFlushJob(job: FlushJob, objects: ObjectStore): Promise<FlushedSegment> {
  const view = new DataView(job.ring);
  const bytes = new Uint8Array(job.ring);
  const groups = groupFrames(view, job.geometry, job.slot);
  const { storeId, objectKey, createdAt } = job;
  const writer = new SegmentWriter(await objects.create(objectKey), { storeId, objectKey, createdAt });
  try {
    const chunker = new FrameChunker(writer);
    for (const group of groups) {
      await writeRun(writer, chunker, bytes, view, group, job.compression.get(group.streamId) ?? 'lz4');
    }
    if (writer.runs === 0) {
      await writer.abort();
      return { objectKey, bytes: 0, checksum: '', runs: [] };
    }
    const segment = await writer.finish();
    const checksum = segment.checksum.toString(16).padStart(16, '0');
    return { objectKey, bytes: segment.bytes, checksum, runs: segment.runs };
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

async function writeRun(
  writer: SegmentWriter,
  chunker: FrameChunker,
  bytes: Uint8Array,
  view: DataView,
  { streamId, positions }: StreamFrames,
  compression: Compression,
): Promise<void> {
  let open = false;
  for (const at of positions) {
    const header = readFrameHeader(view, at);
    if (header.kind !== FRAME_KIND.records && header.kind !== FRAME_KIND.lost) continue;
    if (!open) {
      writer.beginRun(streamId, header.firstOffset);
      chunker.begin(header.firstOffset, compression);
      open = true;
    }
    if (!chunker.fits(header.frameBytes)) await chunker.write();
    chunker.add(bytes, view, at, header);
  }
  if (!open) return;
  await chunker.write();
  writer.endRun();
}
