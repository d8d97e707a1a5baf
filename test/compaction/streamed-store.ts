/**
 * A store where requests cost something, as on S3: inputs are streams, and writers hold what they are given. Parts of
 * less than 5 MiB are refused.
 */
import { SeededRandom } from '../../src/base/random.ts';
import type { ObjectStore, ObjectWriter, StreamRead } from '../../src/object/object-store.ts';
import { PART_BYTES_MIN, planParts, writerMemoryOf } from '../../src/object/s3/options.ts';

export interface StreamedStore extends ObjectStore {
  /** Streams that were begun, and reads of a range. */
  readonly requests: { streams: number; reads: number };
  /** Streams that are open, at most; and what writers were given together. */
  readonly peak: { streams: number; writerBytes: number };
}

const PIECE_BYTES_MAX = 40_000;

/** Pieces have any size, and their memory is overwritten when the next one is asked for. */
export function streamed(inner: ObjectStore): StreamedStore {
  const random = new SeededRandom(23);
  const requests = { streams: 0, reads: 0 };
  const peak = { streams: 0, writerBytes: 0 };
  let open = 0;
  let held = 0;
  const stream: StreamRead = async function* (key, position, length) {
    requests.streams += 1;
    open += 1;
    peak.streams = Math.max(peak.streams, open);
    try {
      for (let at = position; at < position + length;) {
        const piece = await inner.read(key, at, Math.min(position + length - at, 1 + random.below(PIECE_BYTES_MAX)));
        const copy = piece.slice();
        at += copy.length;
        yield copy;
        copy.fill(0xee);
      }
    } finally {
      open -= 1;
    }
  };
  const create = async (key: string, memory = 0, expected?: number): Promise<ObjectWriter> => {
    const writer = await inner.create(key);
    const parts = planParts({}, memory, expected);
    let written = 0;
    held += memory;
    peak.writerBytes = Math.max(peak.writerBytes, held);
    const ended = <T>(end: () => Promise<T>) => {
      return (): Promise<T> => {
        held -= memory;
        memory = 0;
        return end();
      };
    };
    return {
      copies: true,
      write: (bytes) => {
        written += bytes.byteLength;
        return writer.write(bytes);
      },
      commit: ended(() => {
        const refused = written > parts.singleBytes && parts.partBytes < PART_BYTES_MIN;
        return refused ? Promise.reject(new Error('EntityTooSmall')) : writer.commit();
      }),
      abort: ended(() => writer.abort()),
    };
  };
  return {
    requests,
    peak,
    stream,
    create,
    writerMemory: writerMemoryOf({}),
    read: (...range) => {
      requests.reads += 1;
      return inner.read(...range);
    },
    size: (key) => inner.size(key),
    delete: (keys) => inner.delete(keys),
    list: (prefix) => inner.list(prefix),
    removeUnfinished: (before, dryRun) => inner.removeUnfinished(before, dryRun),
    close: () => inner.close(),
  };
}
