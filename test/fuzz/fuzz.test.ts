/** A little of `npm run test:fuzz`, and the fuzzer itself. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { applyEdits } from './edits.ts';
import { everyTarget, Finding, Fuzzer } from './fuzzer.ts';
import type { Target } from './target.ts';

const CASES_PER_TARGET = 150;
/** Of requests that are never whole, each takes its time. */
const TIME_PER_TARGET = 300;

suite('hostile bytes', () => {
  test('are decoded or refused, by every decoder', async () => {
    for (const target of await everyTarget()) {
      const fuzzer = new Fuzzer(target, 1);
      const end = performance.now() + TIME_PER_TARGET;
      while (fuzzer.done < CASES_PER_TARGET && performance.now() < end) await fuzzer.next();
      await target.close?.();
    }
  });

  test('are told apart from inputs that are right', async () => {
    for (const target of await everyTarget()) {
      for (const sample of target.samples) {
        const repaired = sample.slice();
        target.repair(repaired);
        assert.deepEqual(repaired, sample, `${target.name}: repairing changes nothing that is right`);
        await target.run(sample);
      }
      await target.close?.();
    }
  });

  test('that are a finding come back smaller, with seed and case', async () => {
    const target: Target = {
      name: 'believer',
      samples: [new Uint8Array(100)],
      fieldsOf: () => [{ at: 40, bytes: 4 }],
      repair: () => undefined,
      run: (bytes) => {
        assert.ok(
          bytes.subarray(40, 44).every((byte) => byte < 128),
          'it believed a large length',
        );
      },
    };
    const fuzzer = new Fuzzer(target, 5);
    const search = async (): Promise<void> => {
      while (fuzzer.done < 1_000) await fuzzer.next();
    };
    await assert.rejects(search(), (error) => {
      assert.ok(error instanceof Finding);
      assert.match(error.message, /target 'believer', seed 5, case \d+: sample 0, \[\{[^}]*\}\]/);
      return true;
    });
  });

  test('are edited as the edits say', () => {
    const bytes = Uint8Array.from([1, 2, 3, 4]);
    assert.deepEqual([...applyEdits(bytes, [{ type: 'set', at: 1, bytes: 2, value: 0x1_0a0bn }])], [1, 0x0b, 0x0a, 4]);
    assert.deepEqual([...applyEdits(bytes, [{ type: 'remove', at: 1, length: 2 }])], [1, 4]);
    assert.deepEqual([...applyEdits(bytes, [{ type: 'insert', at: 4, content: [5] }])], [1, 2, 3, 4, 5]);
    assert.deepEqual([...applyEdits(bytes, [{ type: 'cut', length: 1 }])], [1]);
    assert.deepEqual([...bytes], [1, 2, 3, 4]);
  });
});
