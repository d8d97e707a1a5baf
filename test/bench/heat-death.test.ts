/** The simulation of the heat death: short, but whole. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { measuresOf, promisesOf, type VariantResult } from '../../bench/heat-death/figures.ts';
import { parseHeatDeathOptions } from '../../bench/heat-death/options.ts';
import { heatDeathPage } from '../../bench/heat-death/page.ts';
import { runScenario } from '../../bench/heat-death/scenario.ts';
import { SCENARIO, VARIANTS } from '../../bench/heat-death/variants.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { MIB } from '../../src/limits/limits.ts';
import { SimulatedTracker } from '../support/simulated-tracker.ts';

const FEW = { readers: 20, commitsPerSecond: 100, recordBytes: 2_000 };

before(() => loadChecksum());

async function resultsOf(seconds: number, retentionBytes: number): Promise<VariantResult[]> {
  const results: VariantResult[] = [];
  for (const { name, text, settings: defaults, commitEvery } of VARIANTS) {
    const settings = { ...defaults, retentionBytes };
    const samples = await runScenario(settings, { ...FEW, seconds, commitEvery });
    results.push({ variant: { name, text }, settings, seconds, samples });
  }
  return results;
}

test('user data inside the retention stays, and each measure buys something', async () => {
  // Two hours of 2,000 B/s, of which the last one is kept: long enough for segments to be merged in it.
  const results = await resultsOf(7_200, 7 * MIB);
  const [all] = results;
  assert.ok(all !== undefined);
  for (const { text, value, kept } of promisesOf(all)) assert.ok(kept, `${text}: ${value}`);
  const last = all.samples.at(-1);
  assert.ok((last?.writtenUserBytes ?? 0) > 13 * MIB);
  assert.ok((last?.keptUserBytes ?? Infinity) < 12 * MIB);
  for (const { measure, what, with: on, without } of measuresOf(results, FEW)) {
    const better = what.includes('user data kept') ? on > without : on < without;
    assert.ok(better, `${measure}, ${what}: ${on} instead of ${without}`);
  }
});

test('one commit between two deltas leads to the same log as hundreds', () => {
  const logOf = (every: number): [number, number] => {
    const simulation = new SimulatedTracker();
    for (let at = 0; at < 60_000; at += 10) {
      if (at % 1_000 === 0) simulation.stream.userBytes += 1_024;
      if (at % every === 0) {
        for (let reader = 0; reader < 50; reader += 1) void simulation.tracker.store(`reader ${reader}`, at, false);
      }
      simulation.advance(10);
    }
    return [simulation.log.length, simulation.log.reduce((sum, { bytes }) => sum + bytes, 0)];
  };
  const [deltas, bytes] = logOf(10);
  const [thinnedDeltas, thinnedBytes] = logOf(5_000);
  assert.ok(Math.abs(deltas - thinnedDeltas) <= 1, `${deltas} and ${thinnedDeltas} deltas`);
  assert.ok(Math.abs(bytes - thinnedBytes) <= bytes / deltas + 1, `${bytes} and ${thinnedBytes} bytes`);
});

test('the report is one file with its plots in it', async () => {
  const variants = await resultsOf(30, 64 * MIB);
  const page = heatDeathPage({ command: 'npm run bench:heat-death -- --quick', scenario: SCENARIO, variants });
  assert.ok(page.includes('<svg') && page.includes('What each measure buys'));
  assert.doesNotMatch(page, /(src|href)=|url\(|@import/);
});

test('options of the command line are checked', () => {
  assert.equal(parseHeatDeathOptions([]).seconds, 7 * 86_400);
  assert.equal(parseHeatDeathOptions(['--quick']).seconds, 7_200);
  assert.equal(parseHeatDeathOptions(['--days', '0.5', '--json', '-']).seconds, 43_200);
  for (const days of ['0', '-1', 'x', '1000']) assert.throws(() => parseHeatDeathOptions([`--days=${days}`]), /--days/);
  assert.throws(() => parseHeatDeathOptions(['--nothing']));
});
