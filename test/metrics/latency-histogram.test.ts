import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { exposition } from '../../src/metrics/exposition.ts';
import { histogramSamples, LATENCY_BOUNDS, LatencyHistogram, quantileOf } from '../../src/metrics/latency-histogram.ts';

suite('latency histogram', () => {
  test('a quantile is the bound above the value it stands for, and less than a fifth larger', () => {
    const latencies = fc.array(fc.double({ min: 0.04, max: 60_000, noNaN: true }), { minLength: 1 });
    fc.assert(
      fc.property(latencies, fc.double({ min: 0.01, max: 1, noNaN: true }), (values, share) => {
        const histogram = new LatencyHistogram();
        for (const value of values) histogram.record(value);
        const sorted = [...values].sort((left, right) => left - right);
        const exact = sorted[Math.ceil(share * values.length) - 1] as number;
        const quantile = quantileOf(histogram.snapshot().counts, share) as number;
        assert.ok(quantile >= exact * 0.999 && quantile < exact * 1.2, `${quantile} stands for ${exact}`);
      }),
    );
  });

  test('what is too short or too long for it is counted at its ends, and nothing has no quantile', () => {
    const histogram = new LatencyHistogram();
    assert.equal(quantileOf(histogram.snapshot().counts, 0.5), undefined);
    for (const value of [0, -1, NaN, 1e12]) histogram.record(value);
    const { counts, count, max } = histogram.snapshot();
    assert.deepEqual([counts[0], counts.at(-1), count, max], [3, 1, 4, 1e12]);
    assert.equal(quantileOf(counts, 1), LATENCY_BOUNDS.at(-2));
  });

  test('Prometheus gets cumulative buckets in seconds', () => {
    const histogram = new LatencyHistogram();
    histogram.record(1, 3);
    histogram.record(1_000);
    const samples = histogramSamples(histogram.snapshot());
    const text = exposition([{ name: 'h', type: 'histogram', help: 'H.', samples }]);
    assert.match(text, /^# TYPE h histogram$/m);
    assert.match(text, /^h_bucket\{le="0.0005"\} 0\nh_bucket\{le="0.001"\} 3$/m);
    assert.match(text, /^h_bucket\{le="\+Inf"\} 4\nh_sum 1.003\nh_count 4$/m);
  });
});
