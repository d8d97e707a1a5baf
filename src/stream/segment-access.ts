/**
 * Records out of segments. A scan streams a run from its coordinate and keeps nothing; a point read goes through the
 * footer, and the footers and chunks that it comes back to stay in caches.
 */
import { SpareMemory } from '../base/spare-memory.ts';
import type { FoundRun } from '../coordinator/coordinator.ts';
import { isMillraceError, MillraceError } from '../errors/millrace-error.ts';
import { MIB } from '../limits/limits.ts';
import type { ObjectStore } from '../object/object-store.ts';
import { type BatchOrigin, RecordBatch, type StreamRecord } from '../record/record-batch.ts';
import { copyRecord, findRecord } from '../record/record-find.ts';
import { BatchMemory } from '../record/record-index.ts';
import { chunkBody, chunkBodyForNow, type StoredChunk } from '../segment/chunk-reader.ts';
import { streamChunks } from '../segment/chunk-stream.ts';
import { SEGMENT_HEADER_BYTES } from '../segment/format.ts';
import { parseSegmentHeader } from '../segment/header.ts';
import { SegmentReader } from '../segment/reader.ts';
import type { SegmentSource } from '../segment/source.ts';
import { BatchCache } from './batch-cache.ts';

/** A run up to this size is read whole rather than through its segment's footer. */
const WHOLE_RUN_BYTES = 512 * 1024;
/** Footers kept open. */
const READERS_MAX = 64;
/** Memory of a larger chunk is left to the collector: one large record must not take it for good. */
const CHUNK_BYTES_RECYCLED_MAX: number = MIB;

/** The chunks of a run from one of them on. */
interface ScanStart {
  readonly position: number;
  readonly length: number;
  readonly firstOffset: number;
}

interface ScanOptions {
  readonly memory?: BatchMemory | undefined;
  /** Bytes of one read. Default a MiB. */
  readonly readBytes?: number;
}

export class SegmentAccess {
  readonly #objects: ObjectStore;
  readonly #storeId: Uint8Array;
  /** Of all scans. */
  readonly #readMemory = new SpareMemory();
  /** Of point reads. */
  readonly #chunkMemory = new SpareMemory();
  readonly #readers = new Map<string, Promise<SegmentReader>>();
  readonly #cache: BatchCache;
  /** Batches on their way: those who miss the same one wait together. */
  readonly #loading = new Map<string, Promise<RecordBatch>>();
  /** The last answer of `countBelow`: it stays the same until the log start moves. */
  #counted: { readonly name: string; readonly records: number } | undefined;

  constructor(objects: ObjectStore, storeId: Uint8Array, cacheBytes: number) {
    this.#objects = objects;
    this.#storeId = storeId;
    this.#cache = new BatchCache(cacheBytes);
  }

  /**
   * The run's batches from the one that covers `from` on, with records in [`from`, run end). With `memory` each is
   * valid until the next one is asked for.
   */
  async *scan(run: FoundRun, from: number, { memory, readBytes }: ScanOptions = {}): AsyncGenerator<RecordBatch> {
    const place = await this.#startOf(run, from);
    const source = this.#sourceOf(run);
    const { objectKey, streamId, nextOffset, firstOffset: base } = run;
    const reuse = { memory: this.#readMemory, keepsUncompressed: memory === undefined };
    const how = { ...reuse, ...(readBytes === undefined ? {} : { readBytes }) };
    const chunks = streamChunks(source, { objectKey, streamId, nextOffset, ...place, base, ...how });
    try {
      for await (const chunk of chunks) {
        const { header } = chunk;
        if (header.recordCount === 0 || header.firstOffset + header.offsetSpan <= from) continue;
        if (header.firstOffset >= run.endOffset) return;
        yield batchOf(chunk, from, run.endOffset, memory);
      }
    } catch (error) {
      if (isMillraceError(error, 'ERR_MILLRACE_SEGMENT_CORRUPT')) await this.#refuseForeign(objectKey);
      throw error;
    }
  }

  /** The record at `offset`; `undefined` when the run holds none there. */
  async find(run: FoundRun, offset: number): Promise<StreamRecord | undefined> {
    const reader = await this.#reader(run.objectKey);
    const entry = reader.footer.findRunAt(run.byteOffset);
    if (entry === undefined) throw missingRun(run);
    const index = reader.footer.chunkForOffset(entry, entry.relative ? offset - run.firstOffset : offset);
    if (index === undefined) return undefined;
    const name = `${run.objectKey}:${index}`;
    const cached = this.#cache.get(name) ?? this.#loading.get(name);
    if (cached !== undefined) return copyRecord(await cached, offset);
    if (!this.#cache.wasAskedFor(name)) return this.#findAlone(name, reader, index, run, offset);
    const loading = this.#load(name, reader, index, run);
    this.#loading.set(name, loading);
    return copyRecord(await loading, offset);
  }

  /** Out of a chunk that is not kept: its memory is used again, and the one record is copied. */
  async #findAlone(
    name: string,
    reader: SegmentReader,
    index: number,
    run: FoundRun,
    offset: number,
  ): Promise<StreamRecord | undefined> {
    try {
      const chunk = await reader.chunk(index, run.firstOffset, this.#chunkMemory);
      this.#cache.passed(name, chunk.header.rawBytes);
      const record = findRecord(chunkBodyForNow(chunk), originOf(chunk), offset);
      if (chunk.bytes.length <= CHUNK_BYTES_RECYCLED_MAX) this.#chunkMemory.recycle(chunk.bytes);
      return record;
    } catch (error) {
      this.#cache.failed(name);
      throw error;
    }
  }

  async #load(name: string, reader: SegmentReader, index: number, run: FoundRun): Promise<RecordBatch> {
    try {
      const chunk = await reader.chunk(index, run.firstOffset);
      const batch = batchOf(chunk, 0, run.endOffset);
      this.#cache.keep(name, batch, chunk.header.rawBytes);
      return batch;
    } finally {
      this.#loading.delete(name);
    }
  }

  /** First offset of the first chunk of the run with a record at or after `timestamp`. */
  async findTimestamp(run: FoundRun, timestamp: number): Promise<number | undefined> {
    const reader = await this.#reader(run.objectKey);
    const entry = reader.footer.findRunAt(run.byteOffset);
    if (entry === undefined) throw missingRun(run);
    const index = reader.footer.chunkForTimestamp(entry, timestamp);
    if (index === undefined) return undefined;
    const first = reader.footer.chunkFirstOffset(index);
    return entry.relative ? run.firstOffset + first : first;
  }

  /** Records of the run below `offset`: for runs in which not every offset has one. Reads them all. */
  async countBelow(run: FoundRun, offset: number): Promise<number> {
    const name = `${run.objectKey}:${run.byteOffset}:${offset}`;
    if (this.#counted?.name === name) return this.#counted.records;
    let records = 0;
    const memory = new BatchMemory();
    for await (const batch of this.scan({ ...run, endOffset: offset }, run.firstOffset, { memory }))
      records += batch.length;
    this.#counted = { name, records };
    return records;
  }

  /** The one chunk of a run that carries tracking: a snapshot is its first, anything else lies in or on its last. */
  async trackingChunk(run: FoundRun): Promise<StoredChunk> {
    const reader = await this.#reader(run.objectKey);
    const entry = reader.footer.findRunAt(run.byteOffset);
    if (entry === undefined) throw missingRun(run);
    const last = entry.firstChunk + entry.chunks - 1;
    return reader.chunk(run.trackingSnapshot ? entry.firstChunk : last, run.firstOffset);
  }

  /** Chunks of another object look damaged. Its header tells whether the whole object is another store's. */
  async #refuseForeign(objectKey: string): Promise<void> {
    try {
      const header = await this.#objects.read(objectKey, 0, SEGMENT_HEADER_BYTES);
      parseSegmentHeader(header, { objectKey, storeId: this.#storeId });
    } catch (error) {
      if (isMillraceError(error, 'ERR_MILLRACE_FOREIGN_FILE')) throw error;
    }
  }

  /** Where to start streaming: at the run's first chunk, or at the right one when skipping is worth a footer. */
  async #startOf(run: FoundRun, from: number): Promise<ScanStart> {
    const whole = { position: run.byteOffset, length: run.byteLength, firstOffset: run.firstOffset };
    if (from <= run.firstOffset || run.byteLength <= WHOLE_RUN_BYTES) return whole;
    const reader = await this.#reader(run.objectKey);
    const entry = reader.footer.findRunAt(run.byteOffset);
    if (entry === undefined) throw missingRun(run);
    const index = reader.footer.chunkForOffset(entry, entry.relative ? from - run.firstOffset : from);
    if (index === undefined) return whole;
    const position = reader.footer.chunkPosition(index);
    const first = reader.footer.chunkFirstOffset(index);
    const firstOffset = entry.relative ? run.firstOffset + first : first;
    return { position, length: run.byteOffset + run.byteLength - position, firstOffset };
  }

  #sourceOf(run: FoundRun): SegmentSource {
    return {
      size: run.byteOffset + run.byteLength,
      read: (position, length, into) => this.#objects.read(run.objectKey, position, length, undefined, into),
    };
  }

  #reader(objectKey: string): Promise<SegmentReader> {
    const open = this.#readers.get(objectKey);
    if (open !== undefined) {
      this.#readers.delete(objectKey);
      this.#readers.set(objectKey, open);
      return open;
    }
    const opening = this.#open(objectKey);
    this.#readers.set(objectKey, opening);
    opening.catch(() => this.#readers.delete(objectKey));
    if (this.#readers.size > READERS_MAX) {
      const [oldest] = this.#readers.keys();
      if (oldest !== undefined) this.#readers.delete(oldest);
    }
    return opening;
  }

  async #open(objectKey: string): Promise<SegmentReader> {
    const size = await this.#objects.size(objectKey);
    if (size === undefined) {
      throw new MillraceError('ERR_MILLRACE_OBJECT_NOT_FOUND', `${objectKey}: the object store does not hold it`, {
        details: { objectKey },
      });
    }
    const source: SegmentSource = {
      size,
      read: (position, length, into) => this.#objects.read(objectKey, position, length, undefined, into),
    };
    return SegmentReader.open(source, { objectKey, storeId: this.#storeId });
  }
}

function batchOf(chunk: StoredChunk, from: number, to: number, memory?: BatchMemory): RecordBatch {
  return RecordBatch.decode(chunkBody(chunk, memory?.body(chunk.header.rawBytes)), originOf(chunk), from, to, memory);
}

function originOf({ objectKey, position, header }: StoredChunk): BatchOrigin {
  return { name: `${objectKey}@${position}`, baseOffset: header.frameBase };
}

function missingRun(run: FoundRun): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_SEGMENT_CORRUPT',
    `${run.objectKey}: no run at ${run.byteOffset}, where the manifest has one of stream ${run.streamId}`,
    { details: { objectKey: run.objectKey, position: run.byteOffset, streamId: run.streamId } },
  );
}
