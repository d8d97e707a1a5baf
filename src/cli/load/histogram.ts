/** Histograms of times, in microseconds with three digits, from one to an hour. */
import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64, type Histogram } from 'hdr-histogram-js';

const HIGHEST = 3_600_000_000;
const MICROSECONDS = 1_000;
const DIGITS = 3;
const COUNT_BITS = 32;
/** Of the curve by percentile: a line of the chart needs no more. */
const TICKS_PER_HALF = 5;

/** Milliseconds. */
export interface Percentiles {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly p9999: number;
  readonly max: number;
}

export class TimeHistogram {
  #histogram: Histogram = build({
    lowestDiscernibleValue: 1,
    highestTrackableValue: HIGHEST,
    numberOfSignificantValueDigits: DIGITS,
    bitBucketSize: COUNT_BITS,
  });

  get count(): number {
    return this.#histogram.totalCount;
  }

  record(milliseconds: number): void {
    const microseconds = Math.round(milliseconds * MICROSECONDS);
    this.#histogram.recordValue(Math.min(HIGHEST, Math.max(0, microseconds)));
  }

  add(other: TimeHistogram): void {
    this.#histogram.add(other.#histogram);
  }

  /** As text, for another thread. */
  pack(): string {
    return encodeIntoCompressedBase64(this.#histogram);
  }

  static unpack(text: string): TimeHistogram {
    const histogram = new TimeHistogram();
    histogram.#histogram = decodeFromCompressedBase64(text, COUNT_BITS, false, HIGHEST);
    return histogram;
  }

  /** Of no times at all: zeros. */
  percentiles(): Percentiles {
    const histogram = this.#histogram;
    const at = (percentile: number): number => histogram.getValueAtPercentile(percentile) / MICROSECONDS;
    return {
      count: histogram.totalCount,
      mean: histogram.totalCount === 0 ? 0 : histogram.mean / MICROSECONDS,
      p50: at(50),
      p90: at(90),
      p99: at(99),
      p999: at(99.9),
      p9999: at(99.99),
      max: histogram.maxValue / MICROSECONDS,
    };
  }

  /** Pairs of percentile and milliseconds, closer together where percentiles are high. */
  curve(): [percentile: number, milliseconds: number][] {
    const { totalCount } = this.#histogram;
    const points: [number, number][] = [];
    // In steps of a fifth of a halving of what is left above: 50, 56, ... 75, ... 87.5.
    for (let step = 0; totalCount > 0; step += 1) {
      const percentile = 100 - 100 * 2 ** (-step / TICKS_PER_HALF);
      points.push([percentile, this.#histogram.getValueAtPercentile(percentile) / MICROSECONDS]);
      if ((1 - percentile / 100) * totalCount < 1) break;
    }
    return points;
  }
}
