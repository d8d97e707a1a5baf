/** Answers of the real server that are cut, at the bytes of all their parts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMillraceError } from '../../../src/errors/millrace-error.ts';
import { PART_BYTES_MIN } from '../../../src/object/s3/options.ts';
import { patternBytes, putObject, withCode } from '../../../src/testing/object-store-contract.ts';
import { close, first, type Fixture, isAny, isPut, open, THE_FUTURE } from './fault-fixture.ts';
import { keysIn, largeBytes } from './s3-fixture.ts';

/** Bytes between two cuts of answers that are not cut at each byte. Of uploads the server keeps each part for hours. */
const STEP = Number(process.env['MILLRACE_CUT_STEP'] ?? 61);

/** Only these may come of an answer that was cut: never bytes, never a claim about the object. */
function assertCut(error: unknown): void {
  assert.ok(isMillraceError(error) && error.retryable, `a retryable error, not ${String(error)}`);
}

export function cutTests(fixture: Fixture): void {
  test('an answer to a read that is cut at any byte is never taken for the object', async () => {
    const { store, direct } = open(fixture, { attempts: 1 });
    await putObject(direct, 'k', patternBytes(100));
    await store.read('k', 10, 80);
    const answerBytes = fixture.proxy.lastAnswerBytes;
    assert.ok(answerBytes > 80);
    for (let at = 0; at < answerBytes; at += 1) {
      fixture.proxy.plan(() => ({ kind: 'cut', at }));
      const outcome = await store.read('k', 10, 80).then(
        (bytes) => assert.fail(`${bytes.length} bytes of an answer cut at ${at}`),
        (error: unknown) => error,
      );
      assertCut(outcome);
    }
    fixture.proxy.plan();
    assert.equal((await store.read('k', 10, 80)).length, 80);
    await close(store, direct);
  });

  test('a stream whose answer is cut anywhere goes on where it was cut', async () => {
    const { store, direct } = open(fixture, { attempts: 2 });
    await putObject(direct, 'k', patternBytes(1_000));
    const all = async (): Promise<Buffer> => {
      const pieces: Buffer[] = [];
      for await (const piece of store.stream('k', 100, 800)) pieces.push(Buffer.from(piece));
      return Buffer.concat(pieces);
    };
    const expected = Buffer.from(patternBytes(1_000).subarray(100, 900));
    assert.deepEqual(await all(), expected);
    const answerBytes = fixture.proxy.lastAnswerBytes;
    for (let at = 0; at < answerBytes; at += 37) {
      fixture.proxy.plan(first(1, { kind: 'cut', at }, isAny));
      assert.deepEqual(await all(), expected, `cut at ${at}`);
    }
    fixture.proxy.plan(() => ({ kind: 'cut', at: answerBytes - 800 }));
    await assert.rejects(all(), withCode('ERR_MILLRACE_UNAVAILABLE'), 'a server that never sends a byte of it');
    await close(store, direct);
  });

  test('a stream of a missing object, or beyond the end of one, says so, and one that is left ends its request', async () => {
    const { store, direct } = open(fixture);
    await putObject(direct, 'k', largeBytes(3_000_000));
    const drain = async (key: string, length: number): Promise<void> => {
      for await (const piece of store.stream(key, 0, length)) assert.ok(piece.length > 0);
    };
    await assert.rejects(drain('none', 10), withCode('ERR_MILLRACE_OBJECT_NOT_FOUND'));
    await assert.rejects(drain('k', 3_000_001), withCode('ERR_MILLRACE_SEGMENT_CORRUPT'));
    for await (const piece of store.stream('k', 0, 3_000_000)) {
      assert.ok(piece.length < 3_000_000);
      break;
    }
    await drain('k', 3_000_000);
    await close(store, direct);
  });

  test('a write whose answer is cut at any byte is stored once, whole', async () => {
    const { store, direct } = open(fixture, { attempts: 3 });
    await putObject(store, 'measure', patternBytes(10));
    const answerBytes = fixture.proxy.lastAnswerBytes;
    const keys: string[] = ['measure'];
    for (let at = 0; at < answerBytes; at += 1) {
      const key = `cut/${at}`;
      fixture.proxy.plan(first(1, { kind: 'cut', at }, isPut));
      assert.equal(await putObject(store, key, patternBytes(10, at)), 10);
      assert.deepEqual(Buffer.from(await direct.read(key, 0, 10)), Buffer.from(patternBytes(10, at)));
      keys.push(key);
    }
    assert.deepEqual(await keysIn(direct), keys.sort());
    await close(store, direct);
  });

  test('listings, sizes and deletions whose answer is cut claim nothing, and succeed when asked again', async () => {
    const prefix = 'cut-answers/';
    const { store, direct } = open(fixture, { attempts: 2, prefix });
    const once = open(fixture, { attempts: 1, prefix });
    const keys = ['a', 'b', 'c'];
    for (const key of keys) await putObject(direct, key, patternBytes(1));
    /** By what it must say when nothing is cut, and when all is. */
    const asked: readonly (readonly [string, () => Promise<unknown>, () => Promise<unknown>, unknown])[] = [
      ['list', () => keysIn(store), () => keysIn(once.store), keys],
      ['size', () => store.size('a'), () => once.store.size('a'), 1],
      ['sweep', () => store.removeUnfinished(0), () => once.store.removeUnfinished(0), 0],
      ['delete', () => store.delete(['gone']), () => once.store.delete(['gone']), ['gone']],
    ];
    for (const [name, again, alone, expected] of asked) {
      fixture.proxy.plan();
      assert.deepEqual(await again(), expected, name);
      const answerBytes = fixture.proxy.lastAnswerBytes;
      for (let at = answerBytes - 1; at >= 0; at -= STEP) {
        fixture.proxy.plan(first(1, { kind: 'cut', at }, isAny));
        assert.deepEqual(await again(), expected, `${name} cut at ${at} of ${answerBytes}`);
        fixture.proxy.plan(() => ({ kind: 'cut', at }));
        const outcome = await alone().catch((error: unknown) => error);
        if (name === 'delete') assert.deepEqual(outcome, [], 'a deletion that was not confirmed');
        else assertCut(outcome);
      }
    }
    await close(store, direct, once.store, once.direct);
  });

  const steps: Readonly<Record<string, (method: string, url: string) => boolean>> = {
    'the start': (method, url) => method === 'POST' && /[?&]uploads/.test(url),
    'a part': (method, url) => method === 'PUT' && url.includes('partNumber=1'),
    'the completion': (method, url) => method === 'POST' && url.includes('uploadId='),
  };
  for (const [step, matches] of Object.entries(steps)) {
    test(`an upload in parts whose answer to ${step} is cut is stored once, whole`, async () => {
      const { store, direct } = open(fixture);
      const bytes = largeBytes(2 * PART_BYTES_MIN + 1);
      let unknown = 0;
      for (let at = 0; at === 0 || at < fixture.proxy.cutAnswerBytes; at += STEP === 1 ? 1 : 3 * STEP) {
        const key = `cut/${at}`;
        fixture.proxy.plan(first(1, { kind: 'cut', at }, matches));
        assert.equal(await putObject(store, key, bytes), bytes.length);
        assert.equal(await direct.size(key), bytes.length, `cut at ${at}`);
        assert.ok(fixture.proxy.log.some(({ fault }) => fault === 'cut'));
        if (step === 'the start') unknown += 1;
      }
      assert.equal(
        await direct.removeUnfinished(THE_FUTURE),
        unknown,
        'no part stays but of uploads that nobody knows',
      );
      await close(store, direct);
    });
  }
}
