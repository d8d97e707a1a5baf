import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { READS_DEFAULT } from '../../../bench/sim/options.ts';
import { simulationPage } from '../../../bench/sim/page.ts';
import { PRICES_DEFAULT } from '../../../bench/sim/prices.ts';
import { type ResultInput, simulate, type VariantResult } from '../../../bench/sim/result.ts';
import { simulationText } from '../../../bench/sim/text.ts';
import { WORKLOAD_DEFAULT } from '../../../bench/sim/workload.ts';

/** A small fleet: a store of 16 streams. */
const WORKLOAD = { ...WORKLOAD_DEFAULT, streams: 512, thinning: 512 };

function run(
  changes: Partial<ResultInput> = {},
  options: Parameters<typeof simulate>[0]['options'] = {},
): VariantResult {
  const input = { workload: WORKLOAD, prices: PRICES_DEFAULT, reads: READS_DEFAULT, days: 2, seed: 1, ...changes };
  return simulate({ name: 'tested', options }, input);
}

suite('a simulated fleet', () => {
  test('gives the same figures for the same seed, and others for another', () => {
    const first = run();
    assert.deepEqual(run(), first);
    assert.notDeepEqual(run({ seed: 2 }).figures, first.figures);
  });

  test('keeps its deadlines, its write amplification and its invariants', () => {
    const { figures, jobs } = run();
    assert.equal(figures.deadlinesMissed, 0);
    assert.ok(figures.deadlinesMet > 0);
    assert.ok(figures.writeAmplification > 1.9 && figures.writeAmplification < 4.5, String(figures.writeAmplification));
    assert.ok((jobs['first generation']?.jobs ?? 0) > 0);
    assert.ok((jobs['superseded keys']?.jobs ?? 0) > 0);
    assert.ok((jobs['deletion deadline']?.jobs ?? 0) > 0);
  });

  test('misses deadlines that are shorter than the grace of deletions', () => {
    const { figures } = run({}, { deleteGrace: 61 * 60_000 });
    assert.ok(figures.deadlinesMissed > 0);
    assert.ok(figures.worstLatenessMinutes > 0);
  });

  test('reads a stream with ten times fewer requests after merging', () => {
    const { figures } = run();
    assert.ok(figures.readGetsPerGibBefore >= 10 * figures.readGetsPerGibAfter, JSON.stringify(figures));
  });

  test('costs per GiB the same when half as much of it is simulated', () => {
    const full = run({ workload: { ...WORKLOAD, thinning: 256 } }).figures;
    const half = run().figures;
    assert.ok(Math.abs(half.writeAmplification / full.writeAmplification - 1) < 0.15);
    assert.ok(Math.abs(half.ingestPutsPerGib / full.ingestPutsPerGib - 1) < 0.01);
    assert.ok(Math.abs(half.rewriteGetsPerGib / full.rewriteGetsPerGib - 1) < 0.15);
  });

  test('costs more where requests do', () => {
    const cheap = run().figures;
    const dear = run({ prices: { ...PRICES_DEFAULT, get: 1 } }).figures;
    assert.ok(dear.dollars.total > cheap.dollars.total);
    assert.equal(dear.dollars.ingest, cheap.dollars.ingest);
  });

  test('is reported as text and as one page with every figure', () => {
    const result = {
      command: 'npm run sim -- --quick <b>',
      workload: WORKLOAD,
      prices: PRICES_DEFAULT,
      reads: READS_DEFAULT,
      days: 2,
      seed: 1,
      variants: [run(), { ...run(), name: 'other' }],
    };
    assert.match(simulationText(result), /storage amplification/);
    const page = simulationPage(result);
    assert.ok(page.includes('&lt;b&gt;') && !page.includes('<b>'));
    assert.ok(!page.includes('NaN') && !page.includes('undefined'));
    assert.match(page, /prefers-color-scheme: dark/);
    assert.doesNotMatch(page, /https?:\/\//);
  });
});
