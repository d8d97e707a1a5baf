/**
 * When each record is due: rates over time, and the inverse of their integral. Pure. The schedule never asks how the
 * engine is doing: that is what keeps a slow answer from hiding the records that should have been sent meanwhile.
 */
import type { LoadSettings } from './settings.ts';

/** A stretch of time in which the rate changes evenly. */
export interface Segment {
  readonly seconds: number;
  /** Records a second at its beginning and at its end. */
  readonly from: number;
  readonly to: number;
}

/** The part of a period that a burst takes. */
const BURST_SHARE = 0.25;

export function segmentsOf(
  settings: Pick<LoadSettings, 'profile' | 'rate' | 'lowRate' | 'seconds' | 'period'>,
): Segment[] {
  const { profile, rate, lowRate, seconds, period } = settings;
  if (profile === 'steady') return [{ seconds, from: rate, to: rate }];
  if (profile === 'ramp') return [{ seconds, from: lowRate, to: rate }];
  const segments: Segment[] = [];
  for (let left = seconds; left > 0; left -= period) {
    const rest = Math.min(left, period * (1 - BURST_SHARE));
    const burst = Math.min(left - rest, period * BURST_SHARE);
    segments.push({ seconds: rest, from: lowRate, to: lowRate });
    if (burst > 0) segments.push({ seconds: burst, from: rate, to: rate });
  }
  return segments;
}

/** Records that are due within the first `seconds`. */
export function recordsDue(segments: readonly Segment[], seconds: number): number {
  let [start, sum] = [0, 0];
  for (const segment of segments) {
    const within = Math.min(Math.max(0, seconds - start), segment.seconds);
    const rateThen = segment.from + ((segment.to - segment.from) * within) / segment.seconds;
    sum += ((segment.from + rateThen) / 2) * within;
    start += segment.seconds;
  }
  return sum;
}

/** The due times of one sender, in order. */
export class Schedule {
  readonly #segments: readonly Segment[];
  /** Records in all. */
  readonly count: number;
  #next = 0;
  /** The segment of the next record, and what lies before it. */
  #index = 0;
  #segmentStart = 0;
  #recordsBefore = 0;
  #due: number;

  constructor(segments: readonly Segment[]) {
    this.#segments = segments;
    this.count = Math.floor(recordsDue(segments, Infinity) + ROUNDING);
    this.#due = this.#find();
  }

  /** How many were taken. */
  get taken(): number {
    return this.#next;
  }

  /** Seconds from the start to when the next record is due; `Infinity` when there is none. */
  get due(): number {
    return this.#due;
  }

  /** Goes on to the next record. */
  take(): void {
    this.#next += 1;
    this.#due = this.#find();
  }

  #find(): number {
    if (this.#next >= this.count) return Infinity;
    for (;;) {
      const segment = this.#segments[this.#index] as Segment;
      const within = this.#next - this.#recordsBefore;
      const records = recordsOf(segment);
      if (within <= records || this.#index === this.#segments.length - 1) {
        return this.#segmentStart + secondsUntil(segment, Math.min(within, records));
      }
      this.#recordsBefore += records;
      this.#segmentStart += segment.seconds;
      this.#index += 1;
    }
  }
}

/** Sums of fractions are not exact; nobody misses a record in a billion. */
const ROUNDING = 1e-6;

function recordsOf({ seconds, from, to }: Segment): number {
  return ((from + to) / 2) * seconds;
}

/** When `records` of a segment are due: the root of from t + (to - from) t^2 / (2 seconds) = records. */
function secondsUntil({ seconds, from, to }: Segment, records: number): number {
  const slope = (to - from) / seconds;
  if (slope === 0) return from === 0 ? seconds : records / from;
  const root = Math.sqrt(Math.max(0, from * from + 2 * slope * records));
  return Math.min(seconds, (2 * records) / (from + root) || 0);
}
