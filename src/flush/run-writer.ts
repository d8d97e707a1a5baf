/** Writes one stream's part of a filling as a run: snapshot first, then records, tracking on the last chunk. */
import { cutFrame } from '../record/frame-cut.ts';
import { readFrameHeader } from '../record/frame-reader.ts';
import type { SegmentRun } from '../record/run.ts';
import type { Compression } from '../record/stream-config.ts';
import { encodeTracking } from '../record/tracking-format.ts';
import { viewOf } from '../base/bytes.ts';
import { CHUNK_OFFSETS_MAX, CHUNK_RAW_BYTES_TARGET } from '../limits/limits.ts';
import { CHUNK_TYPE, type ChunkType } from '../segment/chunk-format.ts';
import { FrameChunker } from '../segment/frame-chunker.ts';
import type { SegmentWriter } from '../segment/writer.ts';
import type { HeldFrame, SettledFrames } from './stream-frames.ts';

const NO_TRACKING = new Uint8Array(0);

export class RunWriter {
  readonly #writer: SegmentWriter;
  readonly #chunker: FrameChunker;
  readonly #ring: Uint8Array;
  readonly #view: DataView;
  readonly #relative: boolean;

  /** `relative`: the coordinator assigns offsets, so every run counts from 0. */
  constructor(writer: SegmentWriter, ring: Uint8Array, view: DataView, relative: boolean) {
    this.#relative = relative;
    this.#writer = writer;
    this.#chunker = new FrameChunker(writer);
    this.#ring = ring;
    this.#view = view;
  }

  /**
   * Writes a run that is one chunk of records, without a promise: a filling of many streams has little else. Returns
   * `undefined`, with nothing done, for any other run, and while the output has to be waited for.
   */
  writeNow(streamId: number, settled: SettledFrames, compression: Compression): SegmentRun | undefined {
    const { frames, tracking, nextOffset, epoch } = settled;
    const [first] = frames;
    if (first === undefined || (tracking.length > 0 && !this.#relative)) return undefined;
    let bytes = 0;
    for (const { header, cutAt } of frames) bytes += cutAt === Infinity ? header.frameBytes : Infinity;
    const oneChunk = bytes <= CHUNK_RAW_BYTES_TARGET && nextOffset - first.firstOffset <= CHUNK_OFFSETS_MAX;
    if (!oneChunk || !this.#writer.takesNow(bytes)) return undefined;
    const firstOffset = this.#relative ? 0 : first.firstOffset;
    this.#writer.beginRun(streamId, firstOffset, { relative: this.#relative });
    this.#chunker.begin(firstOffset, compression, firstOffset - first.firstOffset);
    for (const { at, header } of frames) this.#chunker.add(this.#ring, this.#view, at, header);
    this.#chunker.writeNow(NO_TRACKING, epoch);
    return this.#writer.endRun();
  }

  /** Returns the run; `undefined` when there is nothing to write. */
  async write(
    streamId: number,
    settled: SettledFrames,
    compression: Compression,
    snapshot: Uint8Array | undefined,
  ): Promise<SegmentRun | undefined> {
    const { frames, nextOffset, epoch } = settled;
    // A snapshot says all that the deltas say; where the coordinator assigns offsets, it keeps publishers too.
    const isTold = snapshot !== undefined || this.#relative;
    const delta = isTold ? NO_TRACKING : encodeTracking(settled.tracking);
    if (frames.length === 0 && delta.length === 0 && snapshot === undefined) return undefined;
    const localOffset = frames[0]?.firstOffset ?? nextOffset;
    const firstOffset = this.#relative ? 0 : localOffset;
    this.#writer.beginRun(streamId, firstOffset, { relative: this.#relative });
    const start = { firstOffset, epoch, compression };
    if (snapshot !== undefined) await this.#addTracking(CHUNK_TYPE.trackingSnapshot, snapshot, start);
    if (frames.length === 0) {
      if (snapshot === undefined) await this.#addTracking(CHUNK_TYPE.trackingDelta, delta, start);
    } else {
      this.#chunker.begin(firstOffset, compression, firstOffset - localOffset);
      for (const frame of frames) await this.#addFrame(frame);
      // A truncation that nothing was appended behind has raised the epoch above that of every frame.
      await this.#chunker.write(delta, epoch);
    }
    return this.#writer.endRun();
  }

  async #addFrame({ at, header: held, cutAt }: HeldFrame): Promise<void> {
    const whole = cutAt === Infinity;
    const source = whole ? this.#ring : cutFrame(this.#ring, at, cutAt);
    const view = whole ? this.#view : viewOf(source);
    const start = whole ? at : 0;
    const header = whole ? held : readFrameHeader(view, start);
    if (!this.#chunker.fits(header)) await this.#chunker.writeBefore(header);
    this.#chunker.add(source, view, start, header);
  }

  #addTracking(
    type: ChunkType,
    body: Uint8Array,
    start: { readonly firstOffset: number; readonly epoch: number; readonly compression: Compression },
  ): Promise<void> {
    return this.#writer.addChunk({
      type,
      ...start,
      offsetSpan: 0,
      recordCount: 0,
      firstTimestamp: 0,
      lastTimestamp: 0,
      userBytes: 0,
      body,
    });
  }
}
