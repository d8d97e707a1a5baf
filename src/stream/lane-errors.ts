/** What a lane refuses. */
import { MillraceError } from '../errors/millrace-error.ts';

export function queueFull(queued: number, limit: number): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_QUEUE_FULL',
    `the ring is full and ${queued} bytes of appends wait: await earlier appends, or raise wal.maxQueuedBytes ` +
      `(${limit})`,
    { details: { queuedBytes: queued, maxQueuedBytes: limit } },
  );
}

export function beyondEnd(nextOffset: number, end: number): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_OFFSET_OUT_OF_RANGE',
    `cannot truncate to ${nextOffset}: the stream goes on at ${end}`,
    { details: { nextOffset, end } },
  );
}
