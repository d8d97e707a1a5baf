/** Producers: each appends to its streams, as it is or as a publisher. */
import type { Stream } from '../../stream/stream.ts';
import type { LoadRecord, Target } from './sender.ts';

export const STREAM_PREFIX = 'load-';

export function streamName(index: number): string {
  return `${STREAM_PREFIX}${String(index).padStart(5, '0')}`;
}

/**
 * One for each producer, in the order of their numbers. Where there are more streams than producers, each producer goes
 * round its share of them; otherwise several producers share a stream.
 */
export function targetsOf(streams: readonly Stream[], producers: number, publishers: boolean): Promise<Target[]> {
  const numbers = Array.from({ length: producers }, (_, producer) => producer);
  return Promise.all(
    numbers.map(async (producer) => {
      const own = streams.filter((_stream, index) => index % producers === producer);
      const shares = own.length > 0 ? own : [streams[producer % streams.length] as Stream];
      const reference = `producer-${producer}`;
      const targets = await Promise.all(
        shares.map(async (stream) => (publishers ? publishing(stream, reference) : appending(stream))),
      );
      return inTurns(targets);
    }),
  );
}

function inTurns(targets: readonly Target[]): Target {
  let turn = 0;
  return (records) => {
    const target = targets[turn] as Target;
    turn = (turn + 1) % targets.length;
    return target(records);
  };
}

function appending(stream: Stream): Target {
  return (records) => {
    const [first] = records;
    if (records.length === 1 && first !== undefined) return stream.append(first.value, keyOf(first));
    return stream.appendMany(records.map((record) => ({ value: record.value, ...keyOf(record) })));
  };
}

/** Ids go on where an earlier test ended. */
async function publishing(stream: Stream, reference: string): Promise<Target> {
  const publisher = stream.publisher(reference);
  let nextId = ((await publisher.lastPublishingId()) ?? -1) + 1;
  return (records) => {
    const published = records.map((record, index) => {
      return { publishingId: nextId + index, value: record.value, ...keyOf(record) };
    });
    nextId += records.length;
    return publisher.appendMany(published);
  };
}

function keyOf({ key }: LoadRecord): { readonly key?: string } {
  return key === undefined ? {} : { key };
}
