/**
 * Writes one run of an output from its parents. Large chunks in which nothing changes are passed on as they are stored;
 * everything else is taken apart into frames, filtered, and put together again in chunks of full size.
 */
import { viewOf } from '../base/bytes.ts';
import type { MillraceError } from '../errors/millrace-error.ts';
import { CHUNK_RAW_BYTES_TARGET } from '../limits/limits.ts';
import { FrameFilter } from '../record/frame-filter.ts';
import { FRAME_KIND } from '../record/frame-format.ts';
import { type FrameHeader, walkFrames } from '../record/frame-reader.ts';
import { CHUNK_TYPE, type ChunkType } from '../segment/chunk-format.ts';
import { chunkBody, type StoredChunk } from '../segment/chunk-reader.ts';
import { segmentCorrupt } from '../segment/errors.ts';
import type { FrameChunker } from '../segment/frame-chunker.ts';
import type { SegmentWriter } from '../segment/writer.ts';
import type { KeptRecords } from './kept-records.ts';
import type { LayoutParent, LayoutRun } from './layout.ts';
import type { ParentReader } from './parent-reader.ts';
import type { RewriteCounters } from './rewrite-job.ts';

/** Smaller chunks are joined with their neighbours. */
const PASSED_CHUNK_BYTES_MIN: number = CHUNK_RAW_BYTES_TARGET / 2;
/** A frame at a time is added; chunks of one record may be larger than the memory for bodies. */
const BODY_BYTES = CHUNK_RAW_BYTES_TARGET;

/** An output that is being written. */
export interface OpenOutput {
  readonly writer: SegmentWriter;
  readonly chunker: FrameChunker;
}

/** What key compaction decided for a stream. */
export interface Selection {
  readonly kept: KeptRecords;
  /** Ordinal of the parent's first record. */
  ordinalOf(parent: LayoutParent): number;
}

/** A frame that lies in the body of a chunk. */
interface PlacedFrame {
  readonly header: FrameHeader;
  readonly at: number;
  /** Ordinal of its first record. */
  readonly ordinal: number;
}

export class RunRewriter {
  readonly #reader: ParentReader;
  readonly #counters: RewriteCounters;
  readonly #filter: FrameFilter = new FrameFilter();
  readonly #body: Uint8Array = new Uint8Array(BODY_BYTES);

  constructor(reader: ParentReader, counters: RewriteCounters) {
    this.#reader = reader;
    this.#counters = counters;
  }

  /** `tracking` is the run's snapshot or delta. */
  async write(
    output: OpenOutput,
    run: LayoutRun,
    tracking: Uint8Array | undefined,
    selection: Selection | undefined,
  ): Promise<void> {
    const { writer, chunker } = output;
    writer.beginRun(run.streamId, run.firstOffset);
    if (run.snapshot && tracking !== undefined) {
      await this.#addTracking(writer, run, CHUNK_TYPE.trackingSnapshot, tracking, run.firstOffset);
    }
    chunker.begin(run.firstOffset, run.compression);
    for (const parent of run.parents) {
      await this.#copyParent(output, run, parent, selection);
      this.#reader.done(parent);
    }
    chunker.cover(run.nextOffset);
    const delta = run.snapshot ? undefined : tracking;
    if (chunker.pending) {
      this.#counters.chunksWritten += await chunker.write(delta);
    } else if (delta !== undefined) {
      await this.#addTracking(writer, run, CHUNK_TYPE.trackingDelta, delta, run.nextOffset);
    }
    writer.endRun();
  }

  async #copyParent(
    output: OpenOutput,
    run: LayoutRun,
    parent: LayoutParent,
    selection: Selection | undefined,
  ): Promise<void> {
    const from = Math.max(run.visibleFrom, parent.firstOffset);
    const to = parent.endOffset;
    if (from >= to) {
      this.#counters.recordsDropped += parent.records;
      return;
    }
    let ordinal = selection?.ordinalOf(parent) ?? 0;
    for await (const chunk of this.#reader.chunks(parent, run.streamId)) {
      const { type, firstOffset, offsetSpan, recordCount, rawBytes, trailerBytes } = chunk.header;
      if (type !== CHUNK_TYPE.records) continue;
      this.#counters.recordsRead += recordCount;
      const end = firstOffset + offsetSpan;
      const whole =
        firstOffset >= from && end <= to && (selection === undefined || selection.kept.areKept(ordinal, recordCount));
      if (end <= from || firstOffset >= to) {
        this.#counters.recordsDropped += recordCount;
      } else if (whole && rawBytes >= PASSED_CHUNK_BYTES_MIN && trailerBytes === 0) {
        await this.#passOn(output, chunk, parent.firstOffset);
      } else {
        await this.#takeApart(output, chunk, from, to, ordinal, whole ? undefined : selection);
        output.chunker.cover(Math.min(end, to));
      }
      ordinal += recordCount;
    }
  }

  async #passOn({ writer, chunker }: OpenOutput, chunk: StoredChunk, base: number): Promise<void> {
    chunker.cover(chunk.header.firstOffset);
    if (chunker.pending) this.#counters.chunksWritten += await chunker.write();
    await writer.addStoredChunk(chunk, base);
    chunker.skip(chunk.header.firstOffset + chunk.header.offsetSpan);
    this.#counters.chunksPassed += 1;
  }

  async #takeApart(
    { chunker }: OpenOutput,
    chunk: StoredChunk,
    from: number,
    to: number,
    firstOrdinal: number,
    selection: Selection | undefined,
  ): Promise<void> {
    const body = chunkBody(chunk, this.#body);
    const view = viewOf(body);
    for (const frame of framesOf(chunk, view, firstOrdinal)) {
      const { header, at } = frame;
      const { frameBase } = chunk.header;
      const first = header.firstOffset + frameBase;
      if (first >= to || first + header.offsetSpan <= from) {
        this.#counters.recordsDropped += header.recordCount;
        continue;
      }
      const inside = first >= from && first + header.offsetSpan <= to;
      const keepsAll = inside && (selection === undefined || selection.kept.areKept(frame.ordinal, header.recordCount));
      if (keepsAll && frameBase === 0) {
        if (!chunker.fits(header)) this.#counters.chunksWritten += await chunker.writeBefore(header);
        chunker.add(body, view, at, header);
        continue;
      }
      const copy = this.#copyOf(chunk, body, view, frame, from, to, keepsAll ? undefined : selection);
      if (copy === undefined) continue;
      if (!chunker.fits(copy.header)) this.#counters.chunksWritten += await chunker.writeBefore(copy.header);
      chunker.add(copy.bytes, copy.view, 0, copy.header);
    }
  }

  /** The frame with what is left of it. */
  #copyOf(
    chunk: StoredChunk,
    body: Uint8Array,
    view: DataView,
    { header, at, ordinal }: PlacedFrame,
    from: number,
    to: number,
    selection: Selection | undefined,
  ): ReturnType<FrameFilter['filter']> {
    const { frameBase } = chunk.header;
    const first = header.firstOffset + frameBase;
    const keep = ({ index, delta }: { readonly index: number; readonly delta: number }): boolean => {
      const offset = first + delta;
      return offset >= from && offset < to && (selection === undefined || selection.kept.isKept(ordinal + index));
    };
    // What was lost stays lost as a whole: a part of it becomes offsets without records, as readers see it anyway.
    const isCut = first < from || first + header.offsetSpan > to;
    if (header.kind === FRAME_KIND.lost && isCut) return undefined;
    const copy = this.#filter.filter(body, view, at, header, frameBase, keep, corruptIn(chunk));
    this.#counters.recordsDropped += header.recordCount - (copy?.header.recordCount ?? 0);
    return copy;
  }

  async #addTracking(
    writer: SegmentWriter,
    { compression }: LayoutRun,
    type: ChunkType,
    body: Uint8Array,
    firstOffset: number,
  ): Promise<void> {
    this.#counters.chunksWritten += 1;
    const nothing = { offsetSpan: 0, recordCount: 0, epoch: 0, firstTimestamp: 0, lastTimestamp: 0, userBytes: 0 };
    await writer.addChunk({ type, compression, firstOffset, ...nothing, body });
  }
}

/** The frames of a records chunk that hold offsets, each checked, with the ordinals of their records. */
export function framesOf(chunk: StoredChunk, view: DataView, firstOrdinal: number): PlacedFrame[] {
  const { streamId, firstOffset, offsetSpan, frameBase, recordCount } = chunk.header;
  const corrupt = corruptIn(chunk);
  const frames: PlacedFrame[] = [];
  const end = firstOffset + offsetSpan;
  let next = firstOffset;
  let ordinal = firstOrdinal;
  walkFrames(view, 0, view.byteLength, corrupt, (header, at) => {
    if (header.streamId !== streamId) throw corrupt(`a frame of stream ${header.streamId}`, at);
    if (header.kind !== FRAME_KIND.records && header.kind !== FRAME_KIND.lost) return;
    const first = header.firstOffset + frameBase;
    if (first < next || first + header.offsetSpan > end) throw corrupt(`a frame from offset ${first}`, at);
    next = first + header.offsetSpan;
    frames.push({ header, at, ordinal });
    ordinal += header.recordCount;
  });
  const records = ordinal - firstOrdinal;
  if (records !== recordCount) throw corrupt(`${records} records where the header claims ${recordCount}`, 0);
  return frames;
}

export function corruptIn({ objectKey, position }: StoredChunk): (problem: string, at: number) => MillraceError {
  return (problem, at) => segmentCorrupt(objectKey, position, `${problem} at byte ${at} of the chunk's body`);
}
