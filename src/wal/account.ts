/**
 * Accounting: every frame must continue its stream exactly where the last one ended. A gap means that the engine lost a
 * record between the append and the disk, and stops it before anything is acknowledged behind the gap.
 */
import { assert } from '../base/assert.ts';
import { readUint64 } from '../base/bytes.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { FRAME_FIELD, FRAME_KIND } from '../record/frame-format.ts';

export class StreamAccount {
  /** Next offset by stream id; a stream never seen starts at 0. */
  #next: Float64Array;

  constructor(next: Float64Array) {
    this.#next = next;
  }

  /** Checks and counts all frames in [`from`, `to`). */
  accept(view: DataView, from: number, to: number): void {
    let at = from;
    while (at < to) {
      const frameBytes = view.getUint32(at + FRAME_FIELD.frameBytes, true);
      assert(frameBytes > 0 && frameBytes <= to - at, 'a closed block holds whole frames');
      const streamId = view.getUint32(at + FRAME_FIELD.streamId, true);
      const firstOffset = readUint64(view, at + FRAME_FIELD.firstOffset);
      const kind = view.getUint8(at + FRAME_FIELD.kind);
      if (streamId >= this.#next.length) this.#grow(streamId);
      const expected = this.#next[streamId] as number;
      const rewinds = kind === FRAME_KIND.truncation && firstOffset <= expected;
      if (firstOffset !== expected && !rewinds) throw gap(streamId, expected, firstOffset);
      this.#next[streamId] = firstOffset + view.getUint32(at + FRAME_FIELD.offsetSpan, true);
      at += frameBytes;
    }
  }

  #grow(streamId: number): void {
    const grown = new Float64Array(Math.max(streamId + 1, this.#next.length * 2));
    grown.set(this.#next);
    this.#next = grown;
  }
}

/** The error for a frame that does not continue its stream. */
function gap(streamId: number, expected: number, found: number): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_WAL_GAP',
    `stream ${streamId}: a frame starts at offset ${found} where ${expected} was due: this is a bug, please report it`,
    { details: { streamId, expected, found } },
  );
}
