import type { WritableStreamState } from '../../src/stream/frame-appender.ts';

/** A stream that nobody has appended to. */
export function newStream(streamId: number): WritableStreamState {
  return { streamId, nextOffset: 0, epoch: 0, userBytes: 0, trackingBytes: 0 };
}
