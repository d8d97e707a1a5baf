/** Groups the frames of a filling by stream, in stream order and, within a stream, in log order. */
import { payloadBytesAt, BLOCK_HEADER_BYTES, blockBytes } from '../ring/block-format.ts';
import { FIRST_BLOCK_POSITION, type RingGeometry, slotBase } from '../ring/geometry.ts';
import type { SealedSlot } from '../ring/producer.ts';
import { FRAME_FIELD } from '../record/frame-format.ts';

/** The frames of one stream: indexes into the ring. */
export interface StreamFrames {
  readonly streamId: number;
  readonly positions: readonly number[];
}

/** Filler frames belong to no stream. */
const NO_STREAM = 0;

/** Walks every block of the filling. Its bytes were checked when they were produced or recovered. */
export function groupFrames(view: DataView, geometry: RingGeometry, slot: SealedSlot): StreamFrames[] {
  const groups = new Map<number, number[]>();
  const base = slotBase(geometry, slot.slotSequence);
  const end = base + slot.endPosition;
  let block = base + FIRST_BLOCK_POSITION;
  while (block < end) {
    const payloadBytes = payloadBytesAt(view, block);
    const blockEnd = block + BLOCK_HEADER_BYTES + payloadBytes;
    let at = block + BLOCK_HEADER_BYTES;
    while (at < blockEnd) {
      const streamId = view.getUint32(at + FRAME_FIELD.streamId, true);
      const positions = groups.get(streamId);
      if (positions === undefined) groups.set(streamId, [at]);
      else positions.push(at);
      at += view.getUint32(at + FRAME_FIELD.frameBytes, true);
    }
    block += blockBytes(payloadBytes);
  }
  groups.delete(NO_STREAM);
  return [...groups]
    .map(([streamId, positions]) => ({ streamId, positions }))
    .sort((left, right) => left.streamId - right.streamId);
}
