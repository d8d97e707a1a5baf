/** Histograms of acknowledgement times, in microseconds. */
import { build, type Histogram } from 'hdr-histogram-js';
import type { Latency, Percentiles } from './messages.ts';

const HIGHEST = 60_000_000;

export interface LatencyHistograms {
  readonly append: Histogram;
  readonly appendMany: Histogram;
}

export function newHistograms(): LatencyHistograms {
  const histogram = (): Histogram => build({ highestTrackableValue: HIGHEST, numberOfSignificantValueDigits: 3 });
  return { append: histogram(), appendMany: histogram() };
}

export function figuresOf({ append, appendMany }: LatencyHistograms): Latency {
  const percentiles = (histogram: Histogram): Percentiles => ({
    p50: histogram.getValueAtPercentile(50),
    p99: histogram.getValueAtPercentile(99),
  });
  return { append: percentiles(append), appendMany: percentiles(appendMany) };
}
