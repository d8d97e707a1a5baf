/**
 * What the frames of one stream in a filling come to: which of them hold, where a truncation cut one, and the tracking
 * they carry. Pure.
 */
import { FRAME_KIND } from '../record/frame-format.ts';
import { type FrameHeader, readFrameHeader } from '../record/frame-reader.ts';
import { trackingIn } from '../record/tracking-frames.ts';
import type { TrackingEntry } from '../record/tracking-format.ts';
import { coalesce } from '../record/tracking-state.ts';

/** A frame with offsets, at an index of the ring. */
export interface HeldFrame {
  readonly at: number;
  readonly header: FrameHeader;
  readonly firstOffset: number;
  readonly nextOffset: number;
  /** Where a truncation ended it; `Infinity` when it is whole. */
  cutAt: number;
}

/** The stream goes on at `nextOffset`, which lies in older segments. */
export interface StreamTruncation {
  readonly nextOffset: number;
  readonly epoch: number;
}

export interface SettledFrames {
  readonly frames: readonly HeldFrame[];
  /** Where the stream goes on behind these frames. */
  readonly nextOffset: number;
  /** Epoch of the last of them. */
  readonly epoch: number;
  /** Last entry of each reference. */
  readonly tracking: readonly TrackingEntry[];
  /** The deepest cut into what older segments hold; `undefined` when there is none. */
  readonly truncation: StreamTruncation | undefined;
}

/** `positions` are in log order. */
export function settleFrames(view: DataView, positions: readonly number[]): SettledFrames {
  const frames: HeldFrame[] = [];
  const tracking: TrackingEntry[] = [];
  let truncation: StreamTruncation | undefined;
  let nextOffset = 0;
  let epoch = 0;
  for (const at of positions) {
    const header = readFrameHeader(view, at);
    nextOffset = header.firstOffset + header.offsetSpan;
    epoch = header.epoch;
    const told = trackingIn(view, at, header);
    if (told.length > 0) tracking.push(...told);
    if (header.kind === FRAME_KIND.truncation) {
      const deepest = Math.min(nextOffset, truncation?.nextOffset ?? nextOffset);
      if (truncate(frames, nextOffset)) truncation = { nextOffset: deepest, epoch };
    } else if (header.offsetSpan > 0) {
      frames.push({ at, header, firstOffset: header.firstOffset, nextOffset, cutAt: Infinity });
    }
  }
  return { frames, nextOffset, epoch, tracking: coalesce(tracking), truncation };
}

/** Removes what lies at or behind `nextOffset`. Returns whether the cut reaches the start of these frames or before. */
function truncate(frames: HeldFrame[], nextOffset: number): boolean {
  while (frames.length > 0 && (frames.at(-1) as HeldFrame).firstOffset >= nextOffset) frames.pop();
  const last = frames.at(-1);
  if (last === undefined) return true;
  if (nextOffset < Math.min(last.nextOffset, last.cutAt)) last.cutAt = nextOffset;
  return false;
}
