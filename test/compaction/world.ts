/** A store without its writer: segments are written by hand, so that tests decide what lies where. */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../src/base/clock.ts';
import { SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { CompactionAgent } from '../../src/compaction/agent.ts';
import type { JobEnvironment } from '../../src/compaction/job-run.ts';
import type { Sleep } from '../../src/compaction/pace.ts';
import { type RewriteEnvironment, runRewriteJob } from '../../src/compaction/rewrite.ts';
import type { RewriteJob, RewriteResult } from '../../src/compaction/rewrite-job.ts';
import { type CompactionOptions, compactionSettings } from '../../src/compaction/settings.ts';
import type { Coordinator, FoundRun } from '../../src/coordinator/coordinator.ts';
import { openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import { MemoryObjectStore } from '../../src/object/memory-object-store.ts';
import type { ObjectStore } from '../../src/object/object-store.ts';
import { FRAME_HEADER_BYTES, FRAME_KIND, recordBytes } from '../../src/record/frame-format.ts';
import { readFrameHeader } from '../../src/record/frame-reader.ts';
import { finishFrame, FrameMemory, writeRecord } from '../../src/record/frame-writer.ts';
import { RecordBatch } from '../../src/record/record-batch.ts';
import { type Compression, STREAM_CONFIG_DEFAULT, type StreamConfig } from '../../src/record/stream-config.ts';
import { decodeTracking, encodeTracking, type TrackingEntry } from '../../src/record/tracking-format.ts';
import { TrackingState } from '../../src/record/tracking-state.ts';
import { CHUNK_TYPE } from '../../src/segment/chunk-format.ts';
import { chunkBody, chunkTracking } from '../../src/segment/chunk-reader.ts';
import { streamChunks } from '../../src/segment/chunk-stream.ts';
import { FrameChunker } from '../../src/segment/frame-chunker.ts';
import { verifySegment } from '../../src/segment/verify.ts';
import { SegmentWriter } from '../../src/segment/writer.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';

export const START = 1_700_000_000_000;
export const MINUTE = 60_000;
export const HOUR: number = 60 * MINUTE;
export const DAY: number = 24 * HOUR;
export const STORE_ID: Uint8Array = new Uint8Array(16).fill(3);

export interface WrittenRecord {
  readonly key?: string | null;
  /** `null` is a tombstone. */
  readonly value: string | null;
  /** Default: the clock's time. */
  readonly timestamp?: number;
}

export interface SeenRecord {
  readonly offset: number;
  readonly timestamp: number;
  readonly key: string | null;
  readonly value: string | null;
}

/** One run of a segment to be written. */
export interface Part {
  readonly streamId: number;
  readonly records?: readonly WrittenRecord[];
  /** Records of a frame, and frames of a chunk. Default 3 and 2. */
  readonly frameRecords?: number;
  readonly chunkFrames?: number;
  readonly compression?: Compression;
  readonly epoch?: number;
  readonly tracking?: readonly TrackingEntry[];
  /** The tracking is the stream's whole state. */
  readonly snapshot?: boolean;
}

export class World {
  readonly clock: ManualClock;
  readonly random: SeededRandom = new SeededRandom(17);
  readonly coordinator: Coordinator;
  /** What jobs read from and write to; tests may put faults around it. */
  objects: ObjectStore;
  readonly memory: MemoryObjectStore;
  environment: Partial<RewriteEnvironment> = {};
  /** Where jobs run instead of in place. */
  threads: ((job: RewriteJob) => Promise<RewriteResult>) | undefined;
  /** Every job that ran. */
  readonly jobs: { readonly job: RewriteJob; readonly result: RewriteResult }[] = [];

  private constructor(coordinator: Coordinator, clock: ManualClock) {
    this.clock = clock;
    this.coordinator = coordinator;
    this.memory = new MemoryObjectStore(clock);
    this.objects = this.memory;
  }

  static async open(): Promise<World> {
    await loadChecksum();
    const clock = new ManualClock(START);
    const coordinator = await openEmbeddedCoordinator({
      fileSystem: new SimulatedDisk({ directories: ['/store'] }),
      directory: '/store/manifest',
      storeId: STORE_ID,
      clock,
      random: new SeededRandom(5),
    });
    return new World(coordinator, clock);
  }

  /** Waits as the agent does. Waits that can be cut short end when the test moves the clock; the others move it. */
  readonly sleep: Sleep = async (milliseconds, signal) => {
    if (signal === undefined) {
      this.clock.advance(milliseconds);
      await nextTurn();
      return;
    }
    const until = this.clock.monotonic() + milliseconds;
    while (this.clock.monotonic() < until && !signal.aborted) await nextTurn();
  };

  async stream(name: string, config: Partial<StreamConfig> = {}): Promise<number> {
    const { stream } = await this.coordinator.createStream(name, { ...STREAM_CONFIG_DEFAULT, ...config });
    return stream.streamId;
  }

  /** Writes and commits one object of appends; its parts come by stream. */
  append(...parts: readonly Part[]): Promise<string> {
    return this.#commit(parts, false);
  }

  /** As `append`, with offsets that the coordinator assigns. */
  appendRelative(...parts: readonly Part[]): Promise<string> {
    return this.#commit(parts, true);
  }

  async #commit(parts: readonly Part[], relative: boolean): Promise<string> {
    const { keys } = await this.coordinator.reserveObjects(1);
    const key = keys[0] as string;
    const facts = { storeId: STORE_ID, objectKey: key, createdAt: this.clock.now() };
    const writer = new SegmentWriter(await this.memory.create(key), facts);
    const snapshots: boolean[] = [];
    for (const part of parts) {
      const { nextOffset } = await this.coordinator.findRuns(part.streamId, 0, { maxRuns: 1, maxBytes: 1 });
      await writePart(writer, part, relative ? 0 : nextOffset, this.clock.now(), relative);
      snapshots.push(part.snapshot ?? false);
    }
    const { bytes, checksum, runs } = await writer.finish();
    const commitRuns = runs.map((run, index) => ({ ...run, trackingSnapshot: snapshots[index] ?? false }));
    await this.coordinator.commitObject({
      key,
      bytes,
      checksum: checksum.toString(16).padStart(16, '0'),
      runs: commitRuns,
      relative,
    });
    return key;
  }

  /** An object that nobody commits. */
  async writeUncommitted(key: string): Promise<void> {
    const facts = { storeId: STORE_ID, objectKey: key, createdAt: this.clock.now() };
    const writer = new SegmentWriter(await this.memory.create(key), facts);
    await writePart(writer, { streamId: 1, records: plain(3) }, 0, this.clock.now(), false);
    await writer.finish();
  }

  agent(options: CompactionOptions = {}, environment: Partial<JobEnvironment> = {}): CompactionAgent {
    return new CompactionAgent({ ...this.jobEnvironment(), settings: compactionSettings(options), ...environment });
  }

  jobEnvironment(): JobEnvironment {
    return {
      coordinator: this.coordinator,
      runner: { rewrite: (job) => (this.threads ?? ((each) => this.rewrite(each)))(job) },
      objects: { module: 'memory:', options: {} },
      storeId: STORE_ID,
      clock: this.clock,
      sleep: this.sleep,
      settings: compactionSettings(),
      worker: 'tester',
      signal: new AbortController().signal,
    };
  }

  /** As a pool worker does it, messages included. */
  async rewrite(job: RewriteJob): Promise<RewriteResult> {
    const { clock, random, sleep } = this;
    const sent = structuredClone(job);
    const result = await runRewriteJob(sent, this.objects, { clock, random, sleep, ...this.environment });
    this.jobs.push({ job: sent, result });
    return structuredClone(result);
  }

  /** All readable records of a stream, as a reader finds them; the runs must tile what the stream claims to hold. */
  async read(streamId: number): Promise<SeenRecord[]> {
    const seen: SeenRecord[] = [];
    const { firstOffset, nextOffset } = await this.coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 });
    for (let offset = firstOffset; offset < nextOffset;) {
      const { runs } = await this.coordinator.findRuns(streamId, offset, { maxRuns: 16, maxBytes: 2 ** 40 });
      assert.ok(runs.length > 0, `stream ${streamId} has a run at ${offset}`);
      for (const run of runs) {
        assert.ok(run.firstOffset <= offset && offset < run.endOffset, 'runs follow each other');
        seen.push(...(await this.#readRun(run, offset)));
        offset = run.endOffset;
      }
    }
    for (let index = 1; index < seen.length; index += 1) {
      assert.ok((seen[index - 1] as SeenRecord).offset < (seen[index] as SeenRecord).offset, 'offsets ascend');
    }
    return seen;
  }

  async #readRun(run: FoundRun, from: number): Promise<SeenRecord[]> {
    const seen: SeenRecord[] = [];
    for await (const chunk of this.chunks(run)) {
      if (chunk.header.type !== CHUNK_TYPE.records) continue;
      const origin = { name: run.objectKey, baseOffset: chunk.header.frameBase };
      for (const record of RecordBatch.decode(chunkBody(chunk), origin, from, run.endOffset)) {
        const { offset, timestamp, key, value } = record;
        seen.push({ offset, timestamp, key: key?.toString() ?? null, value: value?.toString() ?? null });
      }
    }
    return seen;
  }

  chunks(run: FoundRun): ReturnType<typeof streamChunks> {
    const { objectKey, streamId, byteOffset: position, byteLength: length, firstOffset: base } = run;
    const source = {
      size: position + length,
      read: (at: number, bytes: number): Promise<Uint8Array> => this.memory.read(objectKey, at, bytes),
    };
    return streamChunks(source, { objectKey, position, length, streamId, base });
  }

  /** The tracking state as the stream's owner loads it at open. */
  async tracking(streamId: number): Promise<{ offsets: Record<string, number>; publishers: Record<string, number> }> {
    const state = new TrackingState();
    for (const run of await this.coordinator.findTrackingRuns(streamId)) {
      for await (const chunk of this.chunks(run)) {
        if (chunk.header.type === CHUNK_TYPE.records && chunk.header.trailerBytes === 0) continue;
        const entries = decodeTracking(chunkTracking(chunk));
        assert.ok(entries !== undefined, 'tracking can be decoded');
        if (chunk.header.type === CHUNK_TYPE.trackingSnapshot) state.replace(entries);
        else state.apply(entries);
      }
    }
    const { firstOffset } = await this.coordinator.findRuns(streamId, 0, { maxRuns: 1, maxBytes: 1 });
    state.evictBelow(firstOffset);
    const publishers = [...state.publishers].map(([name, { publishingId }]): [string, number] => [name, publishingId]);
    return { offsets: Object.fromEntries(state.offsets), publishers: Object.fromEntries(publishers) };
  }

  /** The deletion of what nothing needs any more, when every grace has passed. */
  async clean(): Promise<void> {
    this.clock.advance(10 * MINUTE);
    await this.coordinator.expire();
    const keys = await this.coordinator.objectsToDelete(1_000);
    await this.coordinator.confirmDeleted(await this.memory.delete(keys));
  }

  /** Whether the bytes of `text` lie anywhere in the object store. Only streams without compression can be asked. */
  async holds(text: string): Promise<boolean> {
    for (const key of await this.storedKeys()) {
      const size = (await this.memory.size(key)) ?? 0;
      if (Buffer.from(await this.memory.read(key, 0, size)).includes(text)) return true;
    }
    return false;
  }

  async storedKeys(): Promise<string[]> {
    const keys: string[] = [];
    for await (const { key } of this.memory.list()) keys.push(key);
    return keys;
  }

  async committedKeys(): Promise<string[]> {
    return (await this.coordinator.listObjects({ state: 'committed' })).map(({ key }) => key);
  }

  /** Invariants, every byte of every object, and no object that the coordinator does not know. */
  async check(): Promise<void> {
    assert.deepEqual(await this.coordinator.verify(), []);
    await this.clean();
    const committed = await this.committedKeys();
    assert.deepEqual(await this.storedKeys(), committed, 'what is stored is what is committed');
    assert.deepEqual(await this.coordinator.jobs(), []);
    for (const objectKey of committed) {
      const size = (await this.memory.size(objectKey)) ?? 0;
      const source = { size, read: (at: number, bytes: number) => this.memory.read(objectKey, at, bytes) };
      assert.deepEqual((await verifySegment(source, { objectKey, storeId: STORE_ID })).problems, []);
    }
  }
}

async function writePart(
  writer: SegmentWriter,
  part: Part,
  firstOffset: number,
  now: number,
  relative: boolean,
): Promise<void> {
  const { streamId, records = [], tracking, snapshot = false, compression = 'lz4' } = part;
  const entries = tracking === undefined ? undefined : encodeTracking(tracking);
  writer.beginRun(streamId, firstOffset, { relative });
  const nothing = {
    offsetSpan: 0,
    recordCount: 0,
    epoch: part.epoch ?? 0,
    firstTimestamp: 0,
    lastTimestamp: 0,
    userBytes: 0,
  };
  if (entries !== undefined && (snapshot || records.length === 0)) {
    const type = snapshot ? CHUNK_TYPE.trackingSnapshot : CHUNK_TYPE.trackingDelta;
    await writer.addChunk({ type, compression, firstOffset, ...nothing, body: entries });
  }
  const chunker = new FrameChunker(writer);
  chunker.begin(firstOffset, compression);
  const { frameRecords = 3, chunkFrames = 2, epoch = 0 } = part;
  let frames = 0;
  for (let index = 0; index < records.length; index += frameRecords) {
    if (frames === chunkFrames) {
      await chunker.write();
      frames = 0;
    }
    const frame = frameOf(streamId, firstOffset + index, records.slice(index, index + frameRecords), now, epoch);
    const header = readFrameHeader(frame.view, 0);
    if (!chunker.fits(header)) await chunker.writeBefore(header);
    chunker.add(frame.bytes, frame.view, 0, header);
    frames += 1;
  }
  if (chunker.pending) await chunker.write(snapshot ? undefined : entries);
  writer.endRun();
}

export function frameOf(
  streamId: number,
  firstOffset: number,
  records: readonly WrittenRecord[],
  timestamp: number,
  epoch = 0,
): { readonly bytes: Uint8Array; readonly view: DataView } {
  const parts = records.map(({ key, value, ...rest }) => ({
    key: key === undefined || key === null ? null : Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
    delta: (rest.timestamp ?? timestamp) - timestamp,
  }));
  const userBytes = parts.reduce((sum, { key, value }) => sum + (key?.length ?? 0) + (value?.length ?? 0), 0);
  const room = parts.reduce((sum, { key, value }) => sum + recordBytes(key?.length ?? 0, value?.length ?? 0), 0);
  const memory = new FrameMemory(new ArrayBuffer(Math.ceil((FRAME_HEADER_BYTES + room) / 8) * 8));
  let at = FRAME_HEADER_BYTES;
  for (const { key, value, delta } of parts) at = writeRecord(memory, at, key, value, delta);
  const counts = { recordCount: parts.length, offsetSpan: parts.length, userBytes };
  const rest = { streamId, firstOffset, timestamp, epoch, kind: FRAME_KIND.records, flags: 0, extensionBytes: 0 };
  const end = finishFrame(memory, 0, at, { ...counts, ...rest });
  return { bytes: memory.bytes.subarray(0, end), view: memory.view };
}

/** `count` records with the keys `key0`, `key1`, ... in turn. */
export function keyed(count: number, keys: number, text = 'value'): WrittenRecord[] {
  return Array.from({ length: count }, (_, index) => ({ key: `key${index % keys}`, value: `${text} ${index}` }));
}

export function plain(count: number, text = 'record', size = 0): WrittenRecord[] {
  return Array.from({ length: count }, (_, index) => ({ value: `${text} ${index} ${'x'.repeat(size)}` }));
}

/** What key compaction leaves of records: the latest of each key, and all without a key. */
export function latestOf(records: readonly SeenRecord[]): SeenRecord[] {
  const latest = new Map<string, number>();
  for (const { key, offset } of records) if (key !== null) latest.set(key, offset);
  return records.filter(({ key, offset }) => key === null || latest.get(key) === offset);
}
