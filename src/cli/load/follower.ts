/** A consumer that follows a stream: how long after a record was due it is read. */
import { isMillraceError } from '../../errors/millrace-error.ts';
import type { Stream } from '../../stream/stream.ts';
import { TimeHistogram } from './histogram.ts';
import { preciseNow, stampOf } from './stamp.ts';

export class Follower {
  readonly #stream: Stream;
  readonly #controller = new AbortController();
  #nextOffset: number;
  #latency = new TimeHistogram();
  #reading: Promise<void> | undefined;

  private constructor(stream: Stream, nextOffset: number) {
    this.#stream = stream;
    this.#nextOffset = nextOffset;
  }

  /** Reads what is appended from now on. */
  static async start(stream: Stream): Promise<Follower> {
    const { nextOffset } = await stream.info();
    const follower = new Follower(stream, nextOffset);
    follower.#reading = follower.#read(nextOffset);
    // Judged when it is stopped; until then nobody listens.
    follower.#reading.catch(() => undefined);
    return follower;
  }

  /** Times from when records were due to when they were read, of those read since this was last called. */
  takeLatency(): TimeHistogram {
    const latency = this.#latency;
    this.#latency = new TimeHistogram();
    return latency;
  }

  /** Whether all that the stream holds was read. */
  async caughtUp(): Promise<boolean> {
    const { nextOffset } = await this.#stream.info();
    return this.#nextOffset >= nextOffset;
  }

  /** Ends the reading; rejects with what ended it before. */
  async stop(): Promise<void> {
    this.#controller.abort();
    await this.#reading;
  }

  async #read(from: number): Promise<void> {
    const { signal } = this.#controller;
    try {
      // Key compaction and retention may be faster than a reader that has fallen behind.
      for await (const batch of this.#stream.readBatches({ from, follow: true, onTrimmed: 'skip', signal })) {
        const now = preciseNow();
        for (let index = 0; index < batch.length; index += 1) {
          const value = batch.value(index);
          if (value !== null) this.#latency.record(now - stampOf(value));
        }
        this.#nextOffset = batch.nextOffset;
      }
    } catch (error) {
      if (!isMillraceError(error, 'ERR_MILLRACE_ABORTED')) throw error;
    }
  }
}
