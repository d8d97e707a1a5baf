/** What is due, and when: each default by example, and what holds for every plan by property. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { planJobs } from '../../src/compaction/plan.ts';
import { deadlineStart } from '../../src/compaction/plan-rewrite.ts';
import { KEYED_INPUTS_MAX } from '../../src/compaction/plan-keys.ts';
import { JOB_RUNS_MAX } from '../../src/compaction/plan-groups.ts';
import { compactionSettings } from '../../src/compaction/settings.ts';
import { COMPACTED_GENERATION } from '../../src/compaction/stream-class.ts';
import type { KeyedPart, ObjectFacts } from '../../src/compaction/view.ts';
import type { JobPlan } from '../../src/coordinator/job.ts';
import { GIB, KIB, MIB } from '../../src/limits/limits.ts';
import { object, viewOf } from './facts.ts';
import { DAY, HOUR, MINUTE, START } from './world.ts';

const settings = compactionSettings();

function plan(
  objects: readonly ObjectFacts[],
  more: { force?: boolean; streamId?: number; now?: number } = {},
): JobPlan[] {
  const { now, ...rest } = more;
  return planJobs({ view: viewOf(objects, now), settings, ...rest });
}

const many = (count: number, age: number, facts: Partial<ObjectFacts> = {}): ObjectFacts[] =>
  Array.from({ length: count }, (_, index) => object(age - index, facts));
const keysOf = (objects: readonly ObjectFacts[]): string[] => objects.map(({ key }) => key);

test('nothing to do is no job', () => {
  assert.deepEqual(plan([]), []);
  assert.deepEqual(plan([object(HOUR)]), [], 'a single object has nothing to be merged with');
  assert.deepEqual(plan([object(HOUR)], { force: true }), []);
  assert.deepEqual(plan(many(5, HOUR, { bytes: 200 * MIB })), [], 'large objects stay as they are');
});

suite('the first generation', () => {
  test('is left alone for 15 minutes', () => {
    assert.deepEqual(plan(many(40, 14 * MINUTE)), []);
    assert.equal(plan(many(40, 16 * MINUTE)).length, 2);
  });

  test('is merged when it reaches the target of 100 MiB', () => {
    assert.deepEqual(plan(many(12, 16 * MINUTE)), []);
    const objects = many(13, 16 * MINUTE);
    const [job, ...others] = plan(objects);
    assert.equal(others.length, 0);
    assert.deepEqual([job?.kind, job?.inputKeys], ['merge', keysOf(objects)]);
  });

  test('is merged when there are 64 of it, 64 at a time', () => {
    const small = { bytes: MIB };
    assert.deepEqual(plan(many(63, 16 * MINUTE, small)), []);
    assert.deepEqual(
      plan(many(80, 16 * MINUTE, small)).map(({ inputKeys }) => inputKeys.length),
      [64],
    );
  });

  test('is merged with a quarter more than the target at most', () => {
    assert.deepEqual(
      plan(many(30, 16 * MINUTE)).map(({ inputKeys }) => inputKeys.length),
      [16, 14],
    );
    assert.deepEqual(
      plan(many(5, 16 * MINUTE, { bytes: 70 * MIB })).map(({ inputKeys }) => inputKeys.length),
      [2, 2],
    );
  });

  test('is merged after 30 minutes however little it is', () => {
    assert.equal(plan([object(31 * MINUTE, { bytes: 5_000 }), object(20 * MINUTE, { bytes: 5_000 })]).length, 1);
    assert.equal(plan([object(29 * MINUTE), object(28 * MINUTE)]).length, 0);
  });

  test('is merged at once by force', () => {
    assert.equal(plan([object(0), object(0)], { force: true }).length, 1);
  });

  test('is not merged while it is claimed', () => {
    assert.deepEqual(plan([object(HOUR), object(HOUR, { claimed: true })]), []);
  });
});

suite('later generations', () => {
  const later = { generation: 1, bytes: 20 * MIB };

  test('are merged from 4 on, 8 at a time, within their class and generation', () => {
    assert.deepEqual(plan(many(3, DAY, later)), []);
    assert.equal(plan(many(4, DAY, later)).length, 1);
    assert.deepEqual(
      plan(many(9, DAY, later)).map(({ inputKeys }) => inputKeys.length),
      [8],
    );
    const mixed = [...many(3, DAY, later), ...many(3, DAY, { ...later, className: 'size' })];
    assert.deepEqual(plan(mixed), []);
    assert.deepEqual(plan([...many(3, DAY, later), ...many(3, DAY, { ...later, generation: 2 })]), []);
  });

  test('end with the second, but for objects that are far below the target', () => {
    assert.equal(plan(many(4, DAY, { ...later, generation: 1 })).length, 1);
    assert.deepEqual(plan(many(4, DAY, { ...later, generation: 2 })), []);
    for (const generation of [2, 3, 9]) {
      assert.equal(plan(many(4, DAY, { ...later, generation, bytes: 12 * MIB })).length, 1);
      assert.deepEqual(plan(many(4, DAY, { ...later, generation, bytes: 13 * MIB })), []);
    }
  });

  test('of key-compacted data stay among themselves', () => {
    const compacted = { ...later, generation: COMPACTED_GENERATION };
    assert.deepEqual(plan([...many(2, DAY, later), ...many(2, DAY, compacted)]), []);
    assert.equal(plan(many(4, DAY, compacted)).length, 1);
    assert.deepEqual(plan(many(4, DAY, { ...later, generation: COMPACTED_GENERATION + 3 })), []);
  });

  test('are not merged into as many objects as they are', () => {
    assert.deepEqual(plan(many(8, DAY, { ...later, bytes: 99 * MIB }), { force: true }), []);
  });
});

suite('dead bytes', () => {
  test('of half an object make it due', () => {
    const dead = { generation: 1, bytes: 64 * MIB };
    assert.deepEqual(plan([object(DAY, { ...dead, cleanBytes: 33 * MIB })]), []);
    const [job] = plan([object(DAY, { ...dead, cleanBytes: 31 * MIB })]);
    assert.deepEqual([job?.kind, job?.hints], ['rewrite', { reason: 'dead bytes' }]);
    assert.equal(plan([object(DAY, { ...dead, cleanBytes: 63 * MIB })], { force: true }).length, 1);
  });

  test('wait for the merge that is to come', () => {
    const dirty = object(20 * MINUTE, { cleanBytes: KIB });
    assert.deepEqual(plan([dirty]), []);
    assert.equal(plan([{ ...dirty, committedAt: START - 31 * MINUTE }]).length, 1);
  });
});

test('an object of 30 days is rewritten', () => {
  const old = { generation: 3, bytes: 500 * MIB };
  assert.deepEqual(plan([object(30 * DAY - 1, old)]), []);
  assert.deepEqual(
    plan([object(30 * DAY, old)]).map(({ hints }) => hints['reason']),
    ['lifetime'],
  );
});

test('superseded tracking is removed from a quarter on', () => {
  const tracked = { generation: 1, bytes: 64 * MIB };
  assert.deepEqual(plan([object(HOUR, { ...tracked, supersededBytes: 15 * MIB })]), []);
  const [job] = plan([object(HOUR, { ...tracked, supersededBytes: 16 * MIB })]);
  assert.equal(job?.kind, 'chunkCompaction');
  assert.equal(plan([object(HOUR, { ...tracked, supersededBytes: 1 })], { force: true }).length, 1);
});

suite('a deletion deadline', () => {
  const rewriteBy = START + DAY;

  test('starts a rewrite early enough for the job, the grace and the cleaner', () => {
    const start = deadlineStart(rewriteBy, settings);
    assert.equal(rewriteBy - start, 10 * MINUTE + MINUTE + 2 * MINUTE);
    const dying = object(HOUR, { rewriteBy, generation: 3, bytes: GIB });
    assert.deepEqual(plan([dying], { now: start - 1 }), []);
    assert.deepEqual(
      plan([dying], { now: start }).map(({ hints }) => hints['reason']),
      ['deletion deadline'],
    );
  });

  test('that cannot be met any more is met as soon as possible', () => {
    assert.equal(plan([object(0, { rewriteBy: START - DAY })]).length, 1);
  });

  test('comes before everything else', () => {
    const objects = many(20, HOUR, { rewriteBy: START });
    const jobs = plan(objects);
    assert.ok(jobs.every(({ hints }) => hints['reason'] === 'deletion deadline'));
    assert.equal(jobs.flatMap(({ inputKeys }) => inputKeys).length, 20);
  });

  test('inherited by an output waits a little, so that jobs do not chase it in a loop', () => {
    const output = object(0, { rewriteBy: START, generation: 1 });
    assert.deepEqual(plan([output], { force: true }), []);
    assert.equal(plan([output], { now: START + 5 * MINUTE }).length, 1);
  });
});

suite('key compaction', () => {
  const part = (firstOffset: number, endOffset: number, bytes: number, streamId = 1): KeyedPart => {
    return { streamId, firstOffset, endOffset, bytes, records: endOffset - firstOffset };
  };
  const keyed = (generation: number, ...keyedParts: KeyedPart[]): ObjectFacts =>
    object(DAY, {
      generation,
      keyedParts,
      className: 'keys',
      bytes: 200 * MIB,
      streamIds: Uint32Array.from(keyedParts, ({ streamId }) => streamId),
    });
  const base = COMPACTED_GENERATION;

  test('is due when half of a stream is newer than the last one', () => {
    assert.deepEqual(plan([keyed(base, part(0, 100, 60)), keyed(1, part(100, 200, 40))]), []);
    const objects = [keyed(base, part(0, 100, 50)), keyed(1, part(100, 200, 50))];
    const [job] = plan(objects);
    assert.deepEqual([job?.kind, job?.inputKeys], ['keyCompaction', keysOf(objects)]);
    assert.deepEqual(plan([keyed(base, part(0, 100, 50))], { force: true }), [], 'all of it is compacted');
  });

  test('is due for any newer record by force', () => {
    const objects = [keyed(base, part(0, 100, 1_000)), keyed(1, part(100, 101, 1))];
    assert.equal(plan(objects, { force: true }).length, 1);
  });

  test('begins at the log start: not without an object that somebody else has', () => {
    const claimed = { ...keyed(1, part(0, 100, 50)), claimed: true };
    assert.deepEqual(plan([claimed, keyed(1, part(100, 200, 50))]), []);
    const objects = [keyed(1, part(0, 100, 50)), { ...keyed(1, part(100, 200, 50)), claimed: true }];
    assert.deepEqual(
      plan(objects).map(({ inputKeys }) => inputKeys),
      [keysOf(objects.slice(0, 1))],
    );
  });

  test('takes no beginning that another object interrupts', () => {
    const outer = keyed(1, part(0, 300, 50));
    const inner = { ...keyed(1, part(100, 200, 50)), claimed: true };
    assert.deepEqual(plan([outer, inner]), []);
    assert.equal(plan([outer, { ...inner, claimed: false }])[0]?.inputKeys.length, 2);
  });

  test('is one job for streams that share objects', () => {
    const objects = [keyed(1, part(0, 9, 50, 1), part(0, 9, 50, 2)), keyed(1, part(9, 20, 50, 2), part(0, 5, 9, 3))];
    assert.deepEqual(
      plan(objects).map(({ inputKeys }) => inputKeys.length),
      [2],
    );
  });

  test('is bounded by inputs', () => {
    const objects = Array.from({ length: 200 }, (_, index) => keyed(1, part(index, index + 1, 10)));
    assert.deepEqual(
      plan(objects).map(({ inputKeys }) => inputKeys.length),
      [KEYED_INPUTS_MAX],
    );
  });
});

test('a job for one stream takes only objects that hold it', () => {
  const mine = many(3, HOUR, { streamIds: Uint32Array.of(4, 7) });
  const jobs = plan([...mine, ...many(3, HOUR)], { streamId: 7 });
  assert.deepEqual(
    jobs.map(({ inputKeys }) => inputKeys),
    [keysOf(mine)],
  );
});

const anyObject: fc.Arbitrary<ObjectFacts> = fc
  .record({
    age: fc.integer({ min: 0, max: 40 * DAY }),
    bytes: fc.integer({ min: 4 * KIB, max: 1_200 * MIB }),
    live: fc.double({ min: 0.01, max: 1, noNaN: true }),
    generation: fc.oneof(fc.nat(4), fc.integer({ min: COMPACTED_GENERATION, max: COMPACTED_GENERATION + 4 })),
    claimed: fc.boolean(),
    rewriteBy: fc.option(fc.integer({ min: START - DAY, max: START + DAY }), { nil: undefined }),
    liveRuns: fc.integer({ min: 1, max: 30_000 }),
    className: fc.constantFrom('infinite', 'size', 'expires:100', 'keys'),
    superseded: fc.double({ min: 0, max: 0.5, noNaN: true }),
    keyedFrom: fc.option(fc.nat(100), { nil: undefined }),
  })
  .map(({ age, live, superseded, keyedFrom, bytes, ...rest }) => {
    const liveBytes = Math.ceil(bytes * live);
    const keyedParts =
      keyedFrom === undefined
        ? []
        : [{ streamId: 1, firstOffset: keyedFrom * 10, endOffset: keyedFrom * 10 + 10, bytes: liveBytes, records: 10 }];
    const supersededBytes = Math.floor(liveBytes * superseded);
    return object(age, { ...rest, bytes, liveBytes, cleanBytes: liveBytes, keyedParts, supersededBytes });
  });

test('no plan takes an object twice, a claimed one, or more than a job may have', () => {
  let planned = 0;
  fc.assert(
    fc.property(fc.array(anyObject, { maxLength: 120, size: 'max' }), fc.boolean(), (objects, force) => {
      const byKey = new Map(objects.map((facts) => [facts.key, facts]));
      const jobs = plan(objects, { force });
      const all = jobs.flatMap(({ inputKeys }) => inputKeys);
      assert.equal(new Set(all).size, all.length);
      planned += jobs.length;
      for (const { kind, inputKeys } of jobs) {
        const inputs = inputKeys.map((key) => byKey.get(key) as ObjectFacts);
        assert.ok(inputs.length > 0 && inputs.every(({ claimed }) => !claimed));
        const isFirst = inputs.every(({ generation }) => generation === 0);
        const most = kind === 'keyCompaction' ? KEYED_INPUTS_MAX : kind === 'merge' && isFirst ? 32 : 8;
        assert.ok(inputs.length <= most, `${inputs.length} inputs of a ${kind}`);
        const sum = (value: (facts: ObjectFacts) => number): number =>
          inputs.reduce((total, facts) => total + value(facts), 0);
        if (inputs.length > 1) {
          assert.ok(sum(({ liveRuns }) => liveRuns) <= JOB_RUNS_MAX);
          if (kind !== 'keyCompaction') assert.ok(sum(({ liveBytes }) => liveBytes) <= GIB);
        }
        if (kind === 'merge') assert.ok(inputs.length > 1, 'a merge has something to merge');
      }
    }),
  );
  assert.ok(planned > 100, `${planned} jobs were planned`);
});

test('what is due without force is due with it', () => {
  fc.assert(
    fc.property(fc.array(anyObject, { maxLength: 40, size: 'max' }), (objects) => {
      const forced = new Set(plan(objects, { force: true }).flatMap(({ inputKeys }) => inputKeys));
      const reasons = new Set(['dead bytes', 'superseded tracking', 'deletion deadline', 'lifetime']);
      for (const { hints, inputKeys } of plan(objects)) {
        if (reasons.has(String(hints['reason']))) for (const key of inputKeys) assert.ok(forced.has(key), key);
      }
    }),
  );
});
