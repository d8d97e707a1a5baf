/**
 * The open loop: sends each record when it is due, however the earlier ones fare, and counts each answer from when the
 * record was due. A loop that waited for answers would leave out just the records that a stall would have delayed.
 */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { TimeHistogram } from './histogram.ts';
import type { Schedule } from './profile.ts';
import { preciseNow, RecordMaker } from './stamp.ts';

/** Where records go; resolves when all of them are durable. */
export type Target = (records: readonly LoadRecord[]) => Promise<unknown>;

export interface LoadRecord {
  readonly value: Buffer;
  readonly key: string | undefined;
}

export interface SenderOptions {
  readonly schedule: Schedule;
  /** Take turns, a batch each. */
  readonly targets: readonly Target[];
  readonly recordBytes: number;
  readonly batch: number;
  readonly keys: number;
  readonly maxInFlight: number;
}

/** What happened since the counts were last taken. Times are milliseconds. */
export interface SenderCounts {
  sent: number;
  acknowledged: number;
  /** Refused or lost: by error code. */
  readonly failed: Map<string, number>;
  /** From when a record was due to its acknowledgement. */
  readonly latency: TimeHistogram;
  /** From when a record was due to when it was sent: how late the loop itself was. */
  readonly lateness: TimeHistogram;
}

/** A sender as it is watched, in this thread or another. */
export interface LoadSource {
  /** Records sent and not answered yet. */
  readonly inFlight: number;
  /** Records that were never sent. */
  readonly unsent: number;
  /** What happened since this was last called. */
  takeCounts(): SenderCounts;
}

/** Records sent in one turn of the event loop, so that answers are heard in between. */
const TURN_RECORDS = 2_048;
const MILLISECONDS = 1_000;
/** How long answers are waited for after the last record. */
const DRAIN_LIMIT = 30_000;
/** Timers are a millisecond apart: what is due within one is sent by the next. */
const TICK = 1;

export class Sender implements LoadSource {
  readonly #options: SenderOptions;
  readonly #maker: RecordMaker;
  #counts: SenderCounts = newCounts();
  #inFlight = 0;
  #sent = 0;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#maker = new RecordMaker(options.recordBytes);
  }

  /** Records sent and not answered yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** What happened since this was last called. */
  takeCounts(): SenderCounts {
    const counts = this.#counts;
    this.#counts = newCounts();
    return counts;
  }

  /** Records that were never sent. */
  get unsent(): number {
    return this.#options.schedule.count - this.#options.schedule.taken;
  }

  /** Sends the whole schedule, which begins at `start` of `preciseNow`, and waits for the answers. */
  async run(start: number, signal: AbortSignal): Promise<void> {
    const { schedule, maxInFlight } = this.#options;
    let stalledSince: number | undefined;
    while (schedule.due !== Infinity && !signal.aborted) {
      const late = (preciseNow() - start) / MILLISECONDS - schedule.due;
      if (late < 0) await sleep(Math.max(TICK, Math.floor(-late * MILLISECONDS)), undefined, { ref: true });
      else if (this.#inFlight >= maxInFlight) {
        stalledSince ??= preciseNow();
        if (preciseNow() - stalledSince > DRAIN_LIMIT) return;
        await sleep(TICK);
      } else {
        stalledSince = undefined;
        this.#sendDue(start);
        await nextTurn();
      }
    }
    const limit = preciseNow() + DRAIN_LIMIT;
    while (this.#inFlight > 0 && preciseNow() < limit) await sleep(TICK);
  }

  /** A turn ends with what is due now, with the bound on what is in flight, or when others should have their turn. */
  #sendDue(start: number): void {
    const { schedule, batch, maxInFlight } = this.#options;
    const now = (preciseNow() - start) / MILLISECONDS;
    for (let sent = 0; sent < TURN_RECORDS && schedule.due <= now && this.#inFlight < maxInFlight;) {
      const due: number[] = [];
      // A batch has one target, whether it is sent at once or bit by bit.
      const room = batch - (this.#sent % batch);
      while (due.length < room && schedule.due <= now) {
        due.push(start + schedule.due * MILLISECONDS);
        schedule.take();
      }
      this.#send(due);
      sent += due.length;
    }
  }

  #send(due: readonly number[]): void {
    const { targets, batch, keys } = this.#options;
    const counts = this.#counts;
    const target = targets[Math.floor(this.#sent / batch) % targets.length] as Target;
    const now = preciseNow();
    const records = due.map((stamp, index) => {
      counts.lateness.record(now - stamp);
      return { value: this.#maker.make(stamp), key: keys === 0 ? undefined : `key-${(this.#sent + index) % keys}` };
    });
    this.#sent += due.length;
    this.#inFlight += due.length;
    counts.sent += due.length;
    const answered = (): void => {
      const counts = this.#counts;
      this.#inFlight -= due.length;
      const heard = preciseNow();
      for (const stamp of due) counts.latency.record(heard - stamp);
      counts.acknowledged += due.length;
    };
    const failed = (error: unknown): void => {
      const counts = this.#counts;
      this.#inFlight -= due.length;
      const code = String((error as { code?: unknown }).code ?? error);
      counts.failed.set(code, (counts.failed.get(code) ?? 0) + due.length);
    };
    target(records).then(answered, failed);
  }
}

/** Adds what another part of the test counted. */
export function addCounts(sum: SenderCounts, part: SenderCounts): void {
  sum.sent += part.sent;
  sum.acknowledged += part.acknowledged;
  for (const [code, count] of part.failed) sum.failed.set(code, (sum.failed.get(code) ?? 0) + count);
  sum.latency.add(part.latency);
  sum.lateness.add(part.lateness);
}

export function newCounts(): SenderCounts {
  return { sent: 0, acknowledged: 0, failed: new Map(), latency: new TimeHistogram(), lateness: new TimeHistogram() };
}
