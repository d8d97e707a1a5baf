/** Who sends the records: this thread, or several with producers of their own. */
import type { Store } from '../../store/store.ts';
import type { Stream } from '../../stream/stream.ts';
import { Schedule, type Segment } from './profile.ts';
import { type LoadSource, Sender } from './sender.ts';
import type { LoadSettings } from './settings.ts';
import { publishersOf, targetsOf } from './targets.ts';
import { ThreadSender } from './thread-sender.ts';

/** A schedule that is ready to be sent. */
export interface LoadRun {
  readonly senders: readonly LoadSource[];
  /** Sends all of it from `start` of `preciseNow` on, and waits for the answers. */
  start(start: number, signal: AbortSignal): Promise<unknown>;
}

export interface Sending {
  prepare(segments: readonly Segment[]): LoadRun;
  end(): Promise<unknown>;
}

export async function startHere(streams: readonly Stream[], settings: LoadSettings): Promise<Sending> {
  const { producers, publishers } = settings;
  const targets = await (publishers ? publishersOf(streams, producers) : targetsOf(streams, producers));
  return {
    prepare: (segments) => {
      const sender = new Sender({ schedule: new Schedule(segments), targets, ...settings });
      return { senders: [sender], start: (start, signal) => sender.run(start, signal) };
    },
    end: async () => undefined,
  };
}

/** Every thread has a share of the rate, of the streams and of the producers. */
export async function startThreads(store: Store, streams: readonly Stream[], settings: LoadSettings): Promise<Sending> {
  const { threads, producers } = settings;
  const senders: ThreadSender[] = [];
  for (let thread = 0; thread < threads; thread += 1) {
    const own = streams.filter((_stream, index) => index % threads === thread);
    const share = { streams: own.map(({ name }) => name), producers: Math.max(1, Math.ceil(producers / threads)) };
    senders.push(await ThreadSender.start({ handle: await store.producer(), settings, ...share }));
  }
  return {
    prepare: (segments) => {
      const shares = segments.map(({ seconds, from, to }) => ({ seconds, from: from / threads, to: to / threads }));
      return {
        senders,
        start: (start, signal) => Promise.all(senders.map((sender) => sender.run(shares, start, signal))),
      };
    },
    end: () => Promise.all(senders.map((sender) => sender.end())),
  };
}
