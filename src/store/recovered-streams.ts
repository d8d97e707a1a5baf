/** What the WAL says of each stream behind its segments, gathered once at open. */
import { FRAME_KIND } from '../record/frame-format.ts';
import { trackingIn } from '../record/tracking-frames.ts';
import type { TrackingEntry } from '../record/tracking-format.ts';
import type { StoredEnd } from '../stream/stream-info.ts';
import type { RecoveredFrame } from '../wal/recovery.ts';

export interface RecoveredStream {
  nextOffset: number;
  epoch: number;
  /** Where truncations let it go on, and the epochs from then on. In log order, like the tracking. */
  readonly truncated: StoredEnd[];
  readonly tracking: TrackingEntry[];
}

export function recoveredStreams(
  ring: SharedArrayBuffer,
  frames: readonly RecoveredFrame[],
): Map<number, RecoveredStream> {
  const view = new DataView(ring);
  const streams = new Map<number, RecoveredStream>();
  for (const { header, at } of frames) {
    const { kind, streamId, firstOffset, offsetSpan, epoch } = header;
    const stream = streams.get(streamId) ?? { nextOffset: 0, epoch: 0, truncated: [], tracking: [] };
    streams.set(streamId, stream);
    stream.nextOffset = firstOffset + offsetSpan;
    stream.epoch = Math.max(stream.epoch, epoch);
    if (kind === FRAME_KIND.truncation) stream.truncated.push({ nextOffset: firstOffset, epoch });
    stream.tracking.push(...trackingIn(view, at, header));
  }
  return streams;
}
