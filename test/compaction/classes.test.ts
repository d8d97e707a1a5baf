/** Which streams share outputs, and how inputs are spread over them. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import type { PlacedParent, StreamParents } from '../../src/compaction/layout.ts';
import { CLASSES_MAX, combineClasses, OutputAssigner } from '../../src/compaction/output-assigner.ts';
import { bucketOf, classOf } from '../../src/compaction/stream-class.ts';
import type { FoundRun } from '../../src/coordinator/coordinator.ts';
import { STREAM_CONFIG_DEFAULT, type StreamConfig } from '../../src/record/stream-config.ts';
import { DAY, HOUR } from './world.ts';

const config = (rest: Partial<StreamConfig>): StreamConfig => ({ ...STREAM_CONFIG_DEFAULT, ...rest });

suite('the class of a stream', () => {
  test('is the day on which its data has expired', () => {
    const week = config({ retention: { maxAge: 7 * DAY } });
    assert.equal(classOf(week, 0, DAY), classOf(week, DAY - 1, DAY));
    assert.notEqual(classOf(week, DAY - 1, DAY), classOf(week, DAY, DAY));
    assert.equal(classOf(week, 10 * DAY, DAY), classOf(config({ retention: { maxAge: DAY } }), 16 * DAY, DAY));
    assert.equal(bucketOf(classOf(week, 10 * DAY + HOUR, DAY)), 17);
  });

  test('keeps apart what dies for another reason', () => {
    const retention = { maxAge: DAY };
    const classes = [
      config({}),
      config({ retention }),
      config({ retention: { ...retention, maxBytes: 5 } }),
      config({ retention, cleanup: 'compact' }),
      config({ retention, cleanup: 'compact', deletionDeadline: 1 }),
    ].map((each) => classOf(each, 0, DAY));
    assert.equal(new Set(classes).size, classes.length);
    assert.deepEqual(classes.map(bucketOf), [undefined, 1, undefined, undefined, undefined]);
  });
});

suite('classes', () => {
  test('share outputs with their neighbours in time when there are too many', () => {
    const bytes = new Map(
      Array.from({ length: 20 }, (_, day): [string, number] => [`expires:${day}`, day === 7 ? 1_000 : 10]),
    );
    bytes.set('infinite', 5);
    const groups = combineClasses(bytes);
    assert.equal(groups.length, CLASSES_MAX);
    assert.ok(groups.some((group) => group.join() === 'infinite'));
    for (const group of groups) {
      const days = group.map(bucketOf).filter((day) => day !== undefined);
      for (let index = 1; index < days.length; index += 1) assert.equal(days[index], (days[index - 1] as number) + 1);
    }
    assert.ok(
      groups.some((group) => group.join() === 'expires:7'),
      'the largest stays by itself',
    );
    assert.deepEqual(groups.flat().sort(), [...bytes.keys()].sort());
  });

  test('stay apart while there is room', () => {
    const bytes = new Map([
      ['expires:1', 5],
      ['expires:2', 5],
      ['keys', 9],
    ]);
    assert.deepEqual(combineClasses(bytes).length, 3);
  });
});

test('outputs hold one class each and about the target, and a large run stays whole', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 60, size: 'max' });
  fc.assert(
    fc.property(sizes, fc.integer({ min: 50, max: 400 }), (lengths, targetBytes) => {
      const maxBytes = targetBytes * 4;
      const parents = lengths.map((byteLength, index): PlacedParent => ({
        run: { byteLength } as FoundRun,
        generation: 0,
        className: `class ${index % 3}`,
        keys: 'all',
      }));
      const stream: StreamParents = { streamId: 1, compression: 'lz4', firstOffset: 0, parents };
      const assigner = new OutputAssigner([stream], { targetBytes, maxBytes });
      const outputs = new Map<number, PlacedParent[]>();
      for (const parent of parents) {
        const output = assigner.place(parent);
        outputs.set(output, [...(outputs.get(output) ?? []), parent]);
      }
      const total = lengths.reduce((sum, length) => sum + length, 0);
      assert.ok(outputs.size <= 3 * (total / targetBytes + 2), `${outputs.size} outputs of ${total} bytes`);
      for (const held of outputs.values()) {
        assert.equal(new Set(held.map(({ className }) => className)).size, 1);
        const bytes = held.reduce((sum, { run }) => sum + run.byteLength, 0);
        assert.ok(held.length === 1 || bytes <= maxBytes, `${bytes} bytes in one output`);
      }
    }),
  );
});
