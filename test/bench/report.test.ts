import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { reportPage } from '../../bench/report/page.ts';
import { PEER_RESULTS_VERSION, type PeerResults } from '../../bench/peers/results.ts';
import { figure, resultsOf, targeted } from './fixture.ts';

const peers: PeerResults = {
  ...resultsOf([]),
  version: PEER_RESULTS_VERSION,
  kind: 'peers',
  command: 'npm run bench:peers --',
  seconds: 1.5,
  minutes: 20,
  absent: [{ name: 'remote', reason: 'remote-server is not installed' }],
  peers: [
    { name: 'millrace', versions: '', guarantee: 'on disk', durable: true },
    { name: 'swift', versions: 'swift 1.0', guarantee: 'in the page cache', durable: false },
  ],
  workloads: [
    {
      name: 'ingest-1k-4096',
      what: 'records',
      figures: [{ name: 'rate', unit: 'records/s', better: 'higher' }],
      rows: [
        { peer: 'millrace', samples: { rate: [10, 20, 30] } },
        { peer: 'swift', samples: {}, failure: 'it <crashed>' },
      ],
    },
  ],
};

suite('the report', () => {
  const target = { subject: 'ratio', bound: 'at least', limit: 0.9 } as const;
  const memory = figure({ name: 'peak memory', unit: 'bytes', better: 'lower', millrace: [5], floor: [] });
  const [workload] = resultsOf([targeted(target), memory]).workloads;
  const series = {
    name: 'memory',
    columns: ['seconds', 'resident bytes'],
    rows: [
      [0, 4],
      [1, 5],
    ],
  };
  const page = reportPage({ bench: resultsOf([], { workloads: [{ ...workload!, series }] }), peers });

  test('needs nothing from anywhere else', () => {
    assert.doesNotMatch(page, /(src|href)=(?!"#)|@import|url\(/);
  });

  test('shows bars with their targets, the curve of memory, verdicts and how to repeat it', () => {
    assert.match(page, /<i class="bar millrace" style="width:[\d.]+%"/);
    assert.match(page, /<i class="mark" style="left:[\d.]+%"/);
    assert.match(page, /<path class="line part-0" d="M[\d. ]+L[\d. ]+"/);
    assert.match(page, /<span class="missed">missed<\/span>/);
    assert.match(page, /npm run bench --/);
    assert.match(page, /npm run bench:peers --/);
  });

  test('marks engines that acknowledge early, and says what failed, as text', () => {
    assert.match(page, /swift \*/);
    assert.match(page, /it &lt;crashed&gt;/);
    assert.doesNotMatch(page, /<crashed>/);
  });

  test('says beside each number what an acknowledgement means, and who is not there', () => {
    assert.match(page, /millrace <small>on disk<\/small>/);
    assert.match(page, /remote-server is not installed/);
    assert.match(page, /Budgets beside the best engine/);
    assert.match(page, />not measured</);
  });

  test('leads to its parts', () => {
    const targets = [...page.matchAll(/href="#(\w+)"/g)].map(([, target]) => target!);
    assert.ok(targets.length >= 4);
    for (const target of targets) assert.match(page, new RegExp(`id="${target}"`));
  });

  test('is made of either part alone', () => {
    assert.doesNotMatch(reportPage({ bench: resultsOf([figure()]), peers: undefined }), /Beside other engines/);
    assert.doesNotMatch(reportPage({ bench: undefined, peers }), /Beside the floor/);
  });

  test('holds no number that is not one', () => {
    assert.doesNotMatch(page, /NaN|Infinity|undefined/);
  });
});
