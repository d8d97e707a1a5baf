/** A stream whose fillings are flushed by hand: the flush's run writer, objects in memory, and a coordinator. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { ManualClock } from '../../src/base/clock.ts';
import { SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import type { CommitRun } from '../../src/coordinator/coordinator.ts';
import { type EmbeddedCoordinator, openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import { RunWriter } from '../../src/flush/run-writer.ts';
import { settleFrames } from '../../src/flush/stream-frames.ts';
import { MemoryObjectStore } from '../../src/object/memory-object-store.ts';
import { MeteredObjectStore } from '../../src/object/metered-object-store.ts';
import { encodeTracking, type TrackingEntry } from '../../src/record/tracking-format.ts';
import { type DecodedChunk, decodeChunk } from '../../src/segment/chunk-reader.ts';
import { SegmentWriter } from '../../src/segment/writer.ts';
import { verifySegment } from '../../src/segment/verify.ts';
import { SegmentAccess } from '../../src/stream/segment-access.ts';
import { type LoadedTracking, loadTracking } from '../../src/stream/tracking-loader.ts';
import { FrameLog } from './frame-log.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';

const STORE_ID = new Uint8Array(16).fill(3);
const STREAM_ID = 1;

export class FlushedStream {
  readonly streamId: number = STREAM_ID;
  readonly coordinator: EmbeddedCoordinator;
  readonly log: FrameLog;
  readonly #objects: MeteredObjectStore;

  static async open(logBytes?: number): Promise<FlushedStream> {
    await loadChecksum();
    const coordinator = await openEmbeddedCoordinator({
      fileSystem: new SimulatedDisk({ directories: ['/wal'] }),
      directory: join('/', 'wal', 'manifest'),
      storeId: STORE_ID,
      clock: new ManualClock(1_000_000),
      random: new SeededRandom(1),
    });
    await coordinator.createStream('a', { compression: 'lz4', cleanup: 'delete', retention: {} });
    return new FlushedStream(coordinator, new FrameLog(0, 0, logBytes));
  }

  private constructor(coordinator: EmbeddedCoordinator, log: FrameLog) {
    this.coordinator = coordinator;
    this.log = log;
    this.#objects = new MeteredObjectStore(new MemoryObjectStore());
  }

  /** Calls that read objects. */
  get reads(): number {
    const { read, size } = this.#objects.counters;
    return read.calls + size.calls;
  }

  /** Writes what the log holds since the last flush as a run, and commits it. Returns its chunks. */
  async flush(snapshot?: readonly TrackingEntry[]): Promise<DecodedChunk[]> {
    const [objectKey = ''] = (await this.coordinator.reserveObjects(1)).keys;
    const positions = this.log.seal();
    const { nextOffset, epoch } = this.log;
    const nothing = { frames: [], nextOffset, epoch, tracking: [], truncation: undefined };
    const settled = positions.length === 0 ? nothing : settleFrames(this.log.view, positions);
    const writer = new SegmentWriter(await this.#objects.create(objectKey), {
      storeId: STORE_ID,
      objectKey,
      createdAt: 0,
    });
    const runWriter = new RunWriter(writer, this.log.bytes, this.log.view, false);
    const run = await runWriter.write(STREAM_ID, settled, 'none', snapshot && encodeTracking(snapshot));
    assert.ok(run !== undefined, 'there is something to flush');
    const segment = await writer.finish();
    const checksum = segment.checksum.toString(16).padStart(16, '0');
    const { truncation } = settled;
    await this.coordinator.commitObject({
      key: objectKey,
      bytes: segment.bytes,
      checksum,
      runs: [{ ...run, trackingSnapshot: snapshot !== undefined }],
      truncations: truncation === undefined ? [] : [{ streamId: STREAM_ID, ...truncation }],
    });
    return this.#chunksOf(objectKey, segment.bytes, run);
  }

  /** Commits runs of one record each, with tracking beside it, whose objects are not there. */
  async pretend(objects: number, runsEach: number): Promise<void> {
    const { keys } = await this.coordinator.reserveObjects(objects);
    for (const key of keys) {
      const runs = Array.from({ length: runsEach }, (_, index): CommitRun => {
        const firstOffset = this.log.nextOffset + index;
        const counts = { records: 1, userBytes: 10, trackingBytes: 20, firstTimestamp: 1, lastTimestamp: 1, epoch: 0 };
        const place = { byteOffset: 64 + 200 * index, byteLength: 200, chunks: 1 };
        return { streamId: STREAM_ID, firstOffset, nextOffset: firstOffset + 1, ...counts, ...place };
      });
      this.log.nextOffset += runsEach;
      await this.coordinator.commitObject({ key, bytes: 64 + 200 * runsEach, checksum: '0'.repeat(16), runs });
    }
  }

  /** What opening the stream finds. */
  load(unflushed: readonly TrackingEntry[] = []): Promise<LoadedTracking> {
    return loadTracking(this.coordinator, new SegmentAccess(this.#objects, STORE_ID, 0), STREAM_ID, unflushed);
  }

  async #chunksOf(objectKey: string, size: number, run: CommitRun): Promise<DecodedChunk[]> {
    const read = (position: number, length: number): Promise<Uint8Array> =>
      this.#objects.read(objectKey, position, length);
    const report = await verifySegment({ size, read }, { objectKey, storeId: STORE_ID });
    assert.deepEqual(report.problems, []);
    const bytes = await read(0, size);
    const chunks: DecodedChunk[] = [];
    for (let at = run.byteOffset; at < run.byteOffset + run.byteLength;) {
      const chunk = decodeChunk(bytes, at, { objectKey, position: at });
      chunks.push(chunk);
      at += Math.ceil((88 + chunk.header.storedBytes + chunk.header.trailerBytes) / 8) * 8;
    }
    return chunks;
  }
}
