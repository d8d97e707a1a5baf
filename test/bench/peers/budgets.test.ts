import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { budgetCells, judgeBudgets, type JudgedBudget } from '../../../bench/peers/budgets.ts';
import { peerResultsText } from '../../../bench/peers/output.ts';
import { PEER_RESULTS_VERSION, type PeerResults } from '../../../bench/peers/results.ts';
import { PEER_WORKLOADS } from '../../../bench/peers/workloads.ts';
import { resultsOf } from '../fixture.ts';

const NAME = 'ingest-1k-4096';

/** Results of one workload; each engine's rates, a round each. */
function ratesOf(rates: Readonly<Record<string, readonly number[]>>, more: Partial<PeerResults> = {}): PeerResults {
  const { what, figures } = PEER_WORKLOADS.find(({ name }) => name === NAME)!;
  return {
    ...resultsOf([]),
    version: PEER_RESULTS_VERSION,
    kind: 'peers',
    seconds: 1,
    minutes: 2,
    peers: Object.keys(rates).map((name) => ({ name, versions: '', guarantee: '', durable: !name.endsWith('*') })),
    absent: [],
    workloads: [
      {
        name: NAME,
        what,
        figures,
        rows: Object.entries(rates).map(([peer, rate]) => ({ peer, samples: { rate } })),
      },
    ],
    ...more,
  };
}

function judgedRate(rates: Readonly<Record<string, readonly number[]>>): JudgedBudget {
  return judgeBudgets(ratesOf(rates)).find(({ figure }) => figure === 'rate')!;
}

suite('budgets beside other engines', () => {
  test('are judged by the best of those that acknowledge what is on disk', () => {
    const judged = judgedRate({ floor: [900], millrace: [310], 'millrace appendMany': [800], slow: [50], fast: [100] });
    assert.deepEqual(judged.best, { peer: 'fast', value: 100 });
    assert.equal(judged.verdict, 'met');
    assert.equal(judgedRate({ millrace: [310], 'early*': [300], fast: [100] }).verdict, 'met');
    assert.equal(judgedRate({ millrace: [290], 'early*': [10], fast: [100] }).verdict, 'missed');
  });

  test('are judged by medians', () => {
    assert.equal(judgedRate({ millrace: [1, 310, 900], fast: [90, 100, 400] }).verdict, 'met');
    assert.equal(judgedRate({ millrace: [299, 299, 900], fast: [100, 100, 100] }).verdict, 'missed');
  });

  test('are not measured without millrace, or without an engine to compare with', () => {
    assert.equal(judgedRate({ millrace: [310] }).verdict, 'not measured');
    assert.equal(judgedRate({ fast: [310] }).verdict, 'not measured');
    assert.equal(judgedRate({ millrace: [310], 'early*': [1] }).verdict, 'not measured');
    assert.deepEqual(judgeBudgets(ratesOf({}, { workloads: [] })), []);
  });

  test('stand in the output with what was measured, and so does what could not take part', () => {
    const results = ratesOf(
      { millrace: [310], fast: [100] },
      { absent: [{ name: 'remote', reason: 'remote-server is not installed' }] },
    );
    const text = peerResultsText(results);
    assert.match(text, /ingest-1k-4096 rate >= 3 x the best +met +310\/s +fast 100\/s +3\.10x/);
    assert.match(text, /1 of 2 budgets met/);
    assert.match(text, /without remote: remote-server is not installed/);
  });

  test('name workloads and figures that there are', () => {
    const everything = ratesOf(
      {},
      { workloads: PEER_WORKLOADS.map(({ name, what, figures }) => ({ name, what, figures, rows: [] })) },
    );
    const judged = judgeBudgets(everything);
    assert.equal(judged.length, 9);
    for (const budget of judged) assert.equal(budgetCells(budget)[1], 'not measured');
  });
});
