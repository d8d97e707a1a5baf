/**
 * A file as chunks that lie in memory which is used again and again: a buffer for each read would have to be collected,
 * and the first touch of new memory costs more than the read.
 */
import { fstatSync, read, readSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Clock, systemClock } from '../base/clock.ts';
import { lineMemory, type LineMemory } from '../codec/line-memory.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { KIB, MIB } from '../limits/limits.ts';

/** A call costs little beside so many bytes, and they stay in the processor's cache until they are in the ring. */
const READ_BYTES: number = 256 * KIB;
/** How much is read before the event loop goes on: acknowledgements and Ctrl-C wait for it. */
const TURN_BYTES: number = MIB;
/** A read that takes longer, in milliseconds, is one of a disk: the next one does not hold up the event loop. */
const BLOCKING_MAX = 1;

const readInPool = promisify(read);

export interface FileInput {
  /** Where the chunks lie. */
  readonly memory: LineMemory;
  /** Each is to be used before the next is asked for. */
  readonly chunks: AsyncGenerator<Buffer, void>;
}

/**
 * Reads from where the descriptor stands. Ends early, without an error, once `signal` is aborted.
 * `ERR_MILLRACE_READ_FAILED`: the file was made shorter meanwhile, as by a rotation that copies and truncates.
 */
export function fileInput(descriptor: number, signal?: AbortSignal, clock: Clock = systemClock): FileInput {
  // The first area is for chunks that come from elsewhere.
  const memory = lineMemory(2, READ_BYTES);
  return { memory, chunks: chunksOf(descriptor, memory.inputs[1] as Buffer, signal, clock) };
}

/**
 * What lies in the page cache is read on this thread: on two processors that are two threads of one, the pool's threads
 * took three times as long for the same bytes, waking them included.
 */
async function* chunksOf(
  descriptor: number,
  area: Buffer,
  signal: AbortSignal | undefined,
  clock: Clock,
): AsyncGenerator<Buffer, void> {
  let { size } = fstatSync(descriptor);
  let blocking = true;
  let turnBytes = 0;
  let readBytes = 0;
  while (signal?.aborted !== true) {
    const begun = clock.monotonic();
    const bytes = blocking
      ? readSync(descriptor, area, 0, area.length, null)
      : (await readInPool(descriptor, area, 0, area.length, null)).bytesRead;
    blocking = clock.monotonic() - begun <= BLOCKING_MAX;
    if (bytes === 0) {
      refuseShortened(size, readBytes, fstatSync(descriptor).size);
      return;
    }
    readBytes += bytes;
    // It has grown: a log that is written to meanwhile, which may be cut as well.
    if (readBytes > size) size = Math.max(size, fstatSync(descriptor).size);
    yield area.subarray(0, bytes);
    turnBytes += bytes;
    if (turnBytes < TURN_BYTES) continue;
    turnBytes = 0;
    await nextTurn();
  }
}

/** What was read by then is whole, but for its last line: that must not pass for a record. */
function refuseShortened(before: number, readBytes: number, now: number): void {
  if (now >= before || readBytes >= before) return;
  throw new MillraceError(
    'ERR_MILLRACE_READ_FAILED',
    `the input was made shorter while it was read, from ${before} bytes to ${now}, when ${readBytes} had been read: ` +
      'the records counted are kept; append what comes behind them from a copy of the file that nobody truncates',
    { details: { before, now, readBytes } },
  );
}
