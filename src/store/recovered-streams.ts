/** What the WAL says of each stream behind its segments, gathered once at open. */
import { trackingIn } from '../record/tracking-frames.ts';
import type { TrackingEntry } from '../record/tracking-format.ts';
import type { RecoveredFrame } from '../wal/recovery.ts';

export interface RecoveredStream {
  nextOffset: number;
  epoch: number;
  /** In log order. */
  tracking: TrackingEntry[];
}

export function recoveredStreams(
  ring: SharedArrayBuffer,
  frames: readonly RecoveredFrame[],
): Map<number, RecoveredStream> {
  const view = new DataView(ring);
  const streams = new Map<number, RecoveredStream>();
  for (const { header, at } of frames) {
    const { streamId, firstOffset, offsetSpan, epoch } = header;
    const stream = streams.get(streamId) ?? { nextOffset: 0, epoch: 0, tracking: [] };
    streams.set(streamId, stream);
    stream.nextOffset = firstOffset + offsetSpan;
    stream.epoch = Math.max(stream.epoch, epoch);
    stream.tracking.push(...trackingIn(view, at, header));
  }
  return streams;
}
