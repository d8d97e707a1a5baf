/**
 * Copies frames with some of their records left out. The rest keep offset, timestamp, key and value: what is no longer
 * dense becomes a sparse frame, whose records carry their own offsets.
 */
import { assert } from '../base/assert.ts';
import { alignUp, writeUint64 } from '../base/bytes.ts';
import type { MillraceError } from '../errors/millrace-error.ts';
import {
  FRAME_ALIGNMENT,
  FRAME_FIELD,
  FRAME_FLAG,
  FRAME_HEADER_BYTES,
  paddedRecord,
  RECORD_HEADER_BYTES,
  SPARSE_RECORD_HEADER_BYTES,
} from './frame-format.ts';
import type { FrameHeader } from './frame-reader.ts';
import { finishFrame, type FrameFacts, FrameMemory } from './frame-writer.ts';
import { contentBytes, type RecordPlace, walkRecords } from './record-walk.ts';

/** A frame in the filter's own memory, at position 0; the next call overwrites it. */
export interface FilteredFrame {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly header: FrameHeader;
}

const MEMORY_BYTES_MIN = 64 * 1024;

export class FrameFilter {
  #memory: FrameMemory = new FrameMemory(new ArrayBuffer(MEMORY_BYTES_MIN));

  /** The frame at `at` in `source` with `base` added to its offsets, and nothing else changed. */
  rebase(source: Uint8Array, at: number, header: FrameHeader, base: number): FilteredFrame {
    const { bytes, view } = this.#room(header.frameBytes);
    bytes.set(source.subarray(at, at + header.frameBytes));
    writeUint64(view, FRAME_FIELD.firstOffset, header.firstOffset + base);
    return { bytes, view, header: { ...header, firstOffset: header.firstOffset + base } };
  }

  /**
   * The records of the frame at `at` that `keep` takes, with `base` added to their offsets; `undefined` when it takes
   * none. A frame that keeps all of them keeps its extension too: it speaks of the frame's last record.
   */
  filter(
    source: Uint8Array,
    view: DataView,
    at: number,
    header: FrameHeader,
    base: number,
    keep: (record: RecordPlace) => boolean,
    corrupt: (problem: string, at: number) => MillraceError,
  ): FilteredFrame | undefined {
    const kept: RecordPlace[] = [];
    walkRecords(view, at, header, corrupt, (record) => {
      if (keep(record)) kept.push({ ...record });
    });
    if (kept.length === header.recordCount) return this.rebase(source, at, header, base);
    const [first] = kept;
    const last = kept.at(-1);
    if (first === undefined || last === undefined) return undefined;
    const span = last.delta - first.delta + 1;
    const sparse = span !== kept.length;
    const headerBytes = sparse ? SPARSE_RECORD_HEADER_BYTES : RECORD_HEADER_BYTES;
    const firstOffset = header.firstOffset + base + first.delta;
    let userBytes = 0;
    let room = FRAME_HEADER_BYTES;
    for (const record of kept) {
      userBytes += contentBytes(record);
      room += paddedRecord(headerBytes + contentBytes(record));
    }
    const memory = this.#room(alignUp(room, FRAME_ALIGNMENT));
    const end = copyRecords(memory, source, kept, sparse ? first.delta : undefined);
    assert(end === room, 'a filtered frame takes the room that was counted');
    const flags = sparse ? FRAME_FLAG.sparse : 0;
    const { streamId, timestamp, epoch, kind } = header;
    const counts = { recordCount: kept.length, offsetSpan: span, userBytes };
    const facts = { streamId, firstOffset, timestamp, epoch, kind: kind as FrameFacts['kind'], flags, ...counts };
    const frameBytes = finishFrame(memory, 0, end, { ...facts, extensionBytes: 0 });
    return { bytes: memory.bytes, view: memory.view, header: { ...facts, frameBytes, extensionBytes: 0 } };
  }

  #room(bytes: number): FrameMemory {
    if (bytes > this.#memory.bytes.length) this.#memory = new FrameMemory(new ArrayBuffer(alignUp(bytes, 4096)));
    return this.#memory;
  }
}

/**
 * Writes records behind a frame header and returns their end. With `firstDelta` they carry their offsets from there.
 */
function copyRecords(
  memory: FrameMemory,
  source: Uint8Array,
  records: readonly RecordPlace[],
  firstDelta: number | undefined,
): number {
  const { bytes, view } = memory;
  let at = FRAME_HEADER_BYTES;
  for (const record of records) {
    bytes.set(source.subarray(record.at, record.at + RECORD_HEADER_BYTES), at);
    let content = at + RECORD_HEADER_BYTES;
    if (firstDelta !== undefined) {
      view.setUint32(content, record.delta - firstDelta, true);
      content = at + SPARSE_RECORD_HEADER_BYTES;
    }
    const length = contentBytes(record);
    bytes.set(source.subarray(record.contentAt, record.contentAt + length), content);
    const end = content + length;
    at += paddedRecord(end - at);
    bytes.fill(0, end, at);
  }
  return at;
}
