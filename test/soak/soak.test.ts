/** The judgement of a soak, its plan and its page; `npm run soak -- --minutes 1` is a soak. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { SeededRandom } from '../../src/base/random.ts';
import { machineFacts } from '../../src/cli/machine.ts';
import { isPassed, soakPage, soakText } from './page.ts';
import { nextLife, type PlannedLife } from './plan.ts';
import type { Ending, Life, SoakResult, SoakSample } from './result.ts';
import { judge } from './verdict.ts';

const MIB = 1024 * 1024;
const ENDINGS: readonly Ending[] = ['kill', 'full', 'close'];
const LIFE_SECONDS = 20;

/** Twelve lives with noise; `grown` is added to what is seen, for the share (0 to 1) of the soak that is over. */
function soakOf(grown: (over: number, age: number) => Partial<SoakSample>, failure?: string): SoakResult {
  const random = new SeededRandom(7);
  const around = (value: number): number => value * (0.8 + random.below(401) / 1_000);
  const lives: Life[] = [];
  const samples: SoakSample[] = [];
  for (let life = 0; life < 12; life += 1) {
    const startedAt = life * LIFE_SECONDS;
    for (let age = 0; age < LIFE_SECONDS; age += 1) {
      const seconds = startedAt + age;
      const more = grown(seconds / (12 * LIFE_SECONDS), age);
      const plus = (name: keyof SoakSample, value: number): number => around(value) + (more[name] ?? 0);
      samples.push({
        seconds,
        life,
        age,
        residentBytes: plus('residentBytes', 150 * MIB),
        heapBytes: plus('heapBytes', 20 * MIB),
        descriptors: Math.round(plus('descriptors', 60)),
        ...(age % 7 === 0 ? {} : { p50: plus('p50', 2), p99: plus('p99', 20) }),
        appended: around(5_000),
        slotsInUse: 2,
        slots: 8,
        objects: Math.round(plus('objects', 60)),
        deletingObjects: 20,
        deadBytes: around(MIB),
        files: Math.round(plus('files', 100)),
        walBytes: 4 * MIB,
        manifestBytes: plus('manifestBytes', MIB / 4),
        objectBytes: plus('objectBytes', 10 * MIB),
      });
    }
    const endedAt = startedAt + LIFE_SECONDS - 1;
    const checker = { descriptors: 21, residentBytes: 200 * MIB };
    const ending = ENDINGS[life % 3] ?? 'kill';
    lives.push({ ending, startedAt, endedAt, checkedAt: endedAt + 1, records: life, errors: [], checker });
  }
  return {
    seed: 1,
    minutes: 4,
    startedAt: '2026-01-01T00:00:00.000Z',
    seconds: 240,
    machine: machineFacts('.'),
    how: 'a quota',
    reason: undefined,
    lives,
    samples,
    records: 11,
    failure,
  };
}

const missed = (result: SoakResult): string[] =>
  judge(result).flatMap(({ name, met }) => (met === false ? [name] : []));

suite('the judgement of a soak', () => {
  test('noise is flat', () => {
    assert.deepEqual(missed(soakOf(() => ({}))), []);
  });

  test('what grows from process to process is found', () => {
    assert.deepEqual(missed(soakOf((over) => ({ files: 4_000 * over }))), ['files of the store']);
    assert.deepEqual(missed(soakOf((over) => ({ manifestBytes: 20 * MIB * over }))), ['bytes of the manifest']);
    assert.deepEqual(missed(soakOf((over) => ({ p99: 1_500 * over }))), ['acknowledgement p99']);
    assert.deepEqual(missed(soakOf((over) => ({ residentBytes: 200 * MIB * over }))), ['memory, process by process']);
  });

  test('what grows within each process is found, though the next one begins anew', () => {
    const leak = (_over: number, age: number): Partial<SoakSample> => ({
      descriptors: 20 * age,
      heapBytes: 2 * MIB * age,
    });
    assert.deepEqual(missed(soakOf(leak)), ['heap of the longest process', 'descriptors of the longest process']);
  });

  test('a machine that is busy in the later part decides nothing', () => {
    const busy = (over: number): Partial<SoakSample> =>
      over > 0.6 && Math.round(over * 240) % 20 !== 10 ? { p50: 400, p99: 2_000 } : {};
    assert.deepEqual(missed(soakOf(busy)), []);
  });

  test('a single moment decides nothing', () => {
    const spike = (over: number): Partial<SoakSample> => (over > 0.95 ? { p99: 5_000, objectBytes: 900 * MIB } : {});
    assert.deepEqual(missed(soakOf(spike)), []);
  });

  test('of a process that checks again and again not one descriptor may stay', () => {
    const result = soakOf(() => ({}));
    const lives = result.lives.map((life, index) => ({
      ...life,
      checker: { ...life.checker, descriptors: 21 + index },
    }));
    assert.deepEqual(missed({ ...result, lives }), ['descriptors of the checking process']);
  });

  test('where there is too little, it says so, and passes', () => {
    const { lives, samples, ...rest } = soakOf(() => ({}));
    const result = { ...rest, lives: lives.slice(0, 1), samples: samples.slice(0, 4) };
    const findings = judge(result);
    assert.ok(findings.every(({ met }) => met === undefined));
    assert.ok(isPassed(result, findings));
    const nothing = { ...rest, lives: [], samples: [] };
    assert.doesNotMatch(soakPage(nothing, judge(nothing)), /NaN|undefined/);
  });
});

suite('the plan of a soak', () => {
  function planOf(total: number, full: boolean): PlannedLife[] {
    const random = new SeededRandom(3);
    const lives: PlannedLife[] = [];
    for (let elapsed = 0; ;) {
      const life = nextLife({ number: lives.length, elapsed, total, full }, random);
      if (life === undefined) return lives;
      lives.push(life);
      // Opening and checking take time of their own.
      elapsed += life.seconds + 1;
    }
  }

  test('a minute has every ending, and a last life that is long enough to see what grows in it', () => {
    const lives = planOf(60, true);
    assert.deepEqual(new Set(lives.map(({ ending }) => ending)), new Set(['kill', 'full', 'close']));
    const last = lives.at(-1);
    assert.ok(last?.ending === 'close' && last.seconds >= 15);
    assert.ok(lives.reduce((sum, { seconds }) => sum + seconds, 0) <= 60);
  });

  test('a night has lives of 5 to 60 seconds, and some that are far longer', () => {
    const lives = planOf(10 * 3_600, true);
    const short = lives.filter(({ seconds }) => seconds <= 60);
    assert.ok(short.length > 300 && short.every(({ seconds }) => seconds >= 5));
    assert.ok(lives.filter(({ seconds }) => seconds === 600).length > 10);
    assert.ok((lives.at(-1)?.seconds ?? 0) > 3_000);
  });

  test('where no disk becomes full, processes are closed instead', () => {
    assert.ok(planOf(600, false).every(({ ending }) => ending !== 'full'));
  });
});

suite('the page of a soak', () => {
  test('it has every plot, the ends of processes, and what is met', () => {
    const result = soakOf(() => ({}));
    const page = soakPage(result, judge(result));
    assert.equal(page.match(/<svg /g)?.length, 8);
    assert.equal(page.match(/class="mark"/g)?.length, 8 * result.lives.length);
    assert.doesNotMatch(page, /NaN|undefined|class="missed"/);
  });

  test('what went wrong is on it, as text, and fails the soak', () => {
    const result = soakOf(() => ({}), 'lost <one>');
    const findings = judge(result);
    assert.ok(!isPassed(result, findings));
    assert.match(soakPage(result, findings), /lost &lt;one&gt;/);
    assert.match(soakText(result, findings), /it went wrong\nlost <one>/);
  });
});
