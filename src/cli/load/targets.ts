/** Producers: each appends to its streams, as it is or as a publisher. */
import type { ProducerStream } from '../../store/producers/guest.ts';
import type { Stream } from '../../stream/stream.ts';
import type { LoadRecord, Target } from './sender.ts';

export const STREAM_PREFIX = 'load-';

export function streamName(index: number): string {
  return `${STREAM_PREFIX}${String(index).padStart(5, '0')}`;
}

type Appendable = Pick<ProducerStream, 'append' | 'appendMany'>;

/** Publishers, in the order of their numbers; see `targetsOf`. */
export function publishersOf(streams: readonly Stream[], count: number): Promise<Target[]> {
  return shared(streams, count, (stream, number) => publishing(stream, `producer-${number}`));
}

/** One for each producer, in the order of their numbers. */
export function targetsOf(streams: readonly Appendable[], producers: number): Promise<Target[]> {
  return shared(streams, producers, async (stream) => appending(stream));
}

/**
 * Where there are more streams than producers, each producer goes round its share of them; otherwise several producers
 * share a stream.
 */
function shared<S>(
  streams: readonly S[],
  producers: number,
  targetOf: (stream: S, producer: number) => Promise<Target>,
): Promise<Target[]> {
  const numbers = Array.from({ length: producers }, (_, producer) => producer);
  return Promise.all(
    numbers.map(async (producer) => {
      const own = streams.filter((_stream, index) => index % producers === producer);
      const shares = own.length > 0 ? own : [streams[producer % streams.length] as S];
      return inTurns(await Promise.all(shares.map((stream) => targetOf(stream, producer))));
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

function appending(stream: Appendable): Target {
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
