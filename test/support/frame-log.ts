/** Frames of one stream behind each other, as a filling of the ring holds them, with the truth about them beside. */
import { FRAME_HEADER_BYTES, FRAME_KIND, type FrameKind } from '../../src/record/frame-format.ts';
import { finishFrame, frameContentStart, FrameMemory, writeRecord } from '../../src/record/frame-writer.ts';
import {
  publisherExtensionBytes,
  type TrackingEntry,
  writePublisherExtension,
} from '../../src/record/tracking-format.ts';
import { frameContent } from '../../src/record/tracking-frames.ts';

export interface LoggedRecord {
  readonly offset: number;
  readonly value: string;
  readonly epoch: number;
}

const LOG_BYTES = 1024 * 1024;
const STREAM_ID = 1;

export class FrameLog {
  readonly memory: FrameMemory;
  /** Of every frame, in log order. */
  positions: number[] = [];
  /** What is readable: a plain array, cut and appended to. */
  records: LoggedRecord[] = [];
  /** Offset of the first of `records`. */
  start: number;
  nextOffset: number;
  epoch: number;
  #end = 0;

  constructor(nextOffset = 0, epoch = 0, bytes: number = LOG_BYTES) {
    this.memory = new FrameMemory(new ArrayBuffer(bytes));
    this.start = nextOffset;
    this.nextOffset = nextOffset;
    this.epoch = epoch;
  }

  get view(): DataView {
    return this.memory.view;
  }

  get bytes(): Uint8Array {
    return this.memory.bytes;
  }

  /** Begins another filling: its frames have positions of their own. */
  seal(): number[] {
    return this.positions.splice(0);
  }

  append(values: readonly string[], publisher?: { readonly reference: string; readonly publishingId: number }): void {
    const reference = publisher === undefined ? undefined : Buffer.from(publisher.reference);
    const extensionBytes = reference === undefined ? 0 : publisherExtensionBytes(reference.length);
    let position = frameContentStart(this.#end, extensionBytes);
    let userBytes = 0;
    const firstOffset = this.nextOffset;
    for (const value of values) {
      position = writeRecord(this.memory, position, null, Buffer.from(value), 0);
      userBytes += Buffer.byteLength(value);
      this.records.push({ offset: this.nextOffset, value, epoch: this.epoch });
      this.nextOffset += 1;
    }
    if (publisher !== undefined && reference !== undefined) {
      const { bytes, view } = this.memory;
      writePublisherExtension(bytes, view, this.#end + FRAME_HEADER_BYTES, reference, publisher.publishingId);
    }
    const counts = { recordCount: values.length, offsetSpan: values.length, userBytes, extensionBytes };
    this.#finish(position, FRAME_KIND.records, firstOffset, counts);
  }

  track(entries: readonly TrackingEntry[]): void {
    const content = frameContent(entries);
    this.bytes.set(content, this.#end + FRAME_HEADER_BYTES);
    this.#finish(this.#end + FRAME_HEADER_BYTES + content.length, FRAME_KIND.tracking, this.nextOffset);
  }

  truncate(nextOffset: number): void {
    this.epoch += 1;
    this.nextOffset = nextOffset;
    this.start = Math.min(this.start, nextOffset);
    this.records = this.records.filter(({ offset }) => offset < nextOffset);
    this.#finish(this.#end + FRAME_HEADER_BYTES, FRAME_KIND.truncation, nextOffset);
  }

  #finish(end: number, kind: FrameKind, firstOffset: number, counts: Partial<typeof NO_RECORDS> = {}): void {
    const facts = {
      ...NO_RECORDS,
      ...counts,
      streamId: STREAM_ID,
      firstOffset,
      timestamp: 1_000,
      epoch: this.epoch,
      kind,
    };
    this.positions.push(this.#end);
    this.#end = finishFrame(this.memory, this.#end, end, { ...facts, flags: 0 });
  }
}

const NO_RECORDS = { recordCount: 0, offsetSpan: 0, userBytes: 0, extensionBytes: 0 };
