import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { scaled, short, shortScaled } from '../../src/report/format.ts';
import { linePlot } from '../../src/report/line-plot.ts';
import { linearScale, logScale, percentileScale, type Scale } from '../../src/report/scale.ts';

function checkScale({ share, ticks }: Scale, from: number, to: number): void {
  assert.ok(ticks.length >= 2 && ticks.length <= 12, `${ticks.length} marks`);
  assert.ok(ticks.every((tick, index) => index === 0 || tick > ticks[index - 1]!));
  assert.ok(share(from) === 0 && share(to) === 1);
}

suite('scales', () => {
  test('a linear scale has a few round marks, whatever it spans', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e12, noNaN: true }), (to) => {
        const scale = linearScale(0, to);
        checkScale(scale, 0, to);
        for (const tick of scale.ticks) assert.match((tick / 10 ** 15).toPrecision(6), /^[\d.e+-]+$/);
      }),
    );
    assert.deepEqual(linearScale(0, 8).ticks, [0, 2, 4, 6, 8]);
  });

  test('a logarithmic scale marks powers of ten and takes zero for its beginning', () => {
    const scale = logScale(0.3, 250);
    assert.deepEqual(scale.ticks, [0.1, 1, 10, 100]);
    assert.equal(scale.share(0), 0);
    assert.equal(scale.share(250), 1);
    assert.ok(logScale(5, 5).share(5) < 1);
  });

  test('percentiles are as far apart as what lies above them is rare', () => {
    const { share, ticks } = percentileScale(3);
    assert.deepEqual(ticks, [0, 90, 99, 99.9]);
    for (const [index, tick] of ticks.entries()) assert.ok(Math.abs(share(tick) - index / 3) < 1e-9);
    assert.equal(share(100), 1);
  });
});

suite('line plots', () => {
  test('a gap in the values is a gap in the line', () => {
    const plot = linePlot({ title: 't', x: [0, 1, 2, 3], lines: [{ name: 'l', values: [1, undefined, 2, 3] }] });
    assert.match(plot, /d="M[\d. ]+M[\d. ]+L[\d. ]+"/);
  });

  test('figures are shown to who points at a place, as text', () => {
    const plot = linePlot({
      title: '<t>',
      x: [0, 1],
      lines: [
        { name: '<a>', values: [1, 2] },
        { name: 'b', values: [undefined, 4] },
      ],
    });
    assert.match(plot, /<title>1\n&lt;a&gt;: 2\nb: 4<\/title>/);
    assert.match(plot, /<title>0\n&lt;a&gt;: 1<\/title>/);
    assert.doesNotMatch(plot, /<t>|<a>/);
  });

  test('thousands of places are drawn as hundreds, and the largest values stay', () => {
    const x = Array.from({ length: 10_000 }, (_, index) => index);
    const values = x.map((place) => (place === 5_001 ? 900 : 1));
    const plot = linePlot({ title: 't', x, lines: [{ name: 'l', values }] });
    assert.ok(plot.length < 100_000);
    assert.match(plot, /l: 900/);
  });

  test('nothing, zeros and one place are plots too', () => {
    for (const scale of ['linear', 'log'] as const) {
      for (const values of [[], [0], [0, 0], [undefined, undefined]]) {
        const plot = linePlot({
          title: 't',
          scale,
          x: values.map((_, index) => index),
          lines: [{ name: 'l', values }],
        });
        assert.doesNotMatch(plot, /NaN|Infinity|undefined|e-\d/);
      }
    }
  });

  test('figures lose zeros that say nothing', () => {
    assert.deepEqual([0, 2, 0.5, 12.34, 1_000, 100].map(short), ['0', '2', '0.5', '12.3', '1,000', '100']);
    assert.deepEqual([950, 1_000, 1.5e6].map(scaled), ['950', '1.00k', '1.50M']);
    assert.deepEqual([0, 950, 1_000, 1.5e6, 2e7].map(shortScaled), ['0', '950', '1k', '1.5M', '20M']);
  });
});
