import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { PART_BYTES_MIN } from '../../../src/object/s3/options.ts';
import { patternBytes, putObject, withCode } from '../../../src/testing/object-store-contract.ts';
import { s3 } from '../../../src/s3/index.ts';
import type { S3Server } from '../../support/ceph-server.ts';
import { until } from '../../support/child-processes.ts';
import { FaultProxy } from '../../support/fault-proxy.ts';
import { numbered, StoreFolder, texts } from '../../support/test-store.ts';
import { cutTests } from './cuts.suite.ts';
import { close, first, type Fixture, isAny, isPut, open, SLOW_DOWN, THE_FUTURE } from './fault-fixture.ts';
import { freshOptions, keysIn, largeBytes } from './s3-fixture.ts';

export function s3FaultSuite(server: () => S3Server): void {
  describe('faults of S3', () => {
    const fixture = { server } as Fixture;
    before(async () => {
      fixture.proxy = new FaultProxy(server().endpoint);
      fixture.endpoint = await fixture.proxy.listen();
    });
    afterEach(() => fixture.proxy.plan());
    after(() => fixture.proxy.close());

    passingFaultTests(fixture);
    lostReplyTests(fixture);
    readFaultTests(fixture);
    cutTests(fixture);
    deleteFaultTests(fixture);
  });
}

function passingFaultTests(fixture: Fixture): void {
  for (const fault of [SLOW_DOWN, { kind: 'lost' }, { kind: 'answer', status: 500 }] as const) {
    const name = fault.kind === 'answer' ? `HTTP ${fault.status}` : 'a broken connection';
    test(`${name} for a while delays every operation and fails none`, async () => {
      const { store, direct } = open(fixture);
      const again = (): void => fixture.proxy.plan(first(3, fault, isAny));
      again();
      await putObject(store, 'k', patternBytes(100));
      again();
      assert.equal((await store.read('k', 0, 100)).length, 100);
      again();
      assert.equal(await store.size('k'), 100);
      again();
      assert.deepEqual(await keysIn(store), ['k']);
      again();
      assert.deepEqual(await store.delete(['k']), ['k']);
      await close(store, direct);
    });
  }

  for (const [wal, options] of Object.entries({
    with: {},
    without: { wal: false, diskless: { interval: 5 } },
  } as const)) {
    test(`a store ${wal} a WAL whose bucket answers 503 to everything goes on by itself when that is over`, async (t) => {
      const { endpoint } = fixture;
      const objects = s3({ ...freshOptions(fixture.server(), { attempts: 2 }), endpoint });
      const store = await new StoreFolder(t).open({ objects, compaction: false, cacheBytes: 0, ...options });
      const stream = await store.stream('s');
      await stream.append('record 0');
      await store.flush();
      fixture.proxy.plan(() => SLOW_DOWN);
      let done = false;
      const appends = Promise.all(numbered(20, 'record ', 1).map((value) => stream.append(value)));
      const flushed = appends.then(() => store.flush()).finally(() => (done = true));
      await until('attempts in vain', async () => (store.stats().flush?.retries ?? 0) >= 2);
      assert.ok(!done, 'nothing is said to be stored meanwhile');
      await assert.rejects(texts(stream.read()), withCode('ERR_MILLRACE_UNAVAILABLE'));
      fixture.proxy.plan();
      await flushed;
      assert.deepEqual(await texts(stream.read()), numbered(21));
      assert.deepEqual((await store.verify()).problems, []);
      await store.close();
    });
  }

  test('attempts end, and their number is the one that was asked for', async () => {
    const { store, direct } = open(fixture, { attempts: 4 });
    fixture.proxy.plan(() => SLOW_DOWN);
    const writer = await store.create('k');
    await writer.write(patternBytes(10));
    await assert.rejects(writer.commit(), withCode('ERR_MILLRACE_UNAVAILABLE'));
    assert.equal(fixture.proxy.log.length, 4);
    fixture.proxy.plan();
    await writer.abort();
    assert.deepEqual(await keysIn(direct), []);
    await close(store, direct);
  });

  test('a server that does not answer is given up after the timeout and asked again', async () => {
    const { store, direct } = open(fixture, { requestTimeout: 1_000 });
    await putObject(direct, 'k', patternBytes(10));
    fixture.proxy.plan(first(1, { kind: 'silence' }, isAny));
    assert.equal(await store.size('k'), 10);
    fixture.proxy.plan(() => ({ kind: 'silence' }));
    const impatientStore = open(fixture, { requestTimeout: 100, attempts: 1 });
    await assert.rejects(impatientStore.store.size('k'), withCode('ERR_MILLRACE_UNAVAILABLE'));
    await close(store, direct, impatientStore.store, impatientStore.direct);
  });

  test('a signal ends a read that waits for a server', async () => {
    const { store, direct } = open(fixture);
    const controller = new AbortController();
    fixture.proxy.plan(() => {
      controller.abort();
      return { kind: 'silence' };
    });
    await assert.rejects(store.read('k', 0, 10, controller.signal), withCode('ERR_MILLRACE_ABORTED'));
    await close(store, direct);
  });
}

function lostReplyTests(fixture: Fixture): void {
  test("an object whose reply was lost is recognised as the writer's own", async () => {
    const { store, direct } = open(fixture);
    fixture.proxy.plan(first(1, { kind: 'lostReply' }, isPut));
    assert.equal(await putObject(store, 'k', patternBytes(1000)), 1000);
    assert.ok(fixture.proxy.log.length > 1, 'it was tried again');
    assert.deepEqual(Buffer.from(await direct.read('k', 0, 1000)), Buffer.from(patternBytes(1000)));
    await close(store, direct);
  });

  test('a lost request to a key of somebody else is still refused', async () => {
    const { store, direct } = open(fixture);
    await putObject(direct, 'k', patternBytes(100, 1));
    fixture.proxy.plan(first(1, { kind: 'lost' }, isPut));
    await assert.rejects(putObject(store, 'k', patternBytes(100, 2)), withCode('ERR_MILLRACE_OBJECT_EXISTS'));
    assert.deepEqual(Buffer.from(await direct.read('k', 0, 100)), Buffer.from(patternBytes(100, 1)));
    await close(store, direct);
  });

  const steps: Readonly<Record<string, (method: string, url: string) => boolean>> = {
    'the start': (method, url) => method === 'POST' && /[?&]uploads/.test(url),
    'a part': (method, url) => method === 'PUT' && url.includes('partNumber=2'),
    'the completion': (method, url) => method === 'POST' && url.includes('uploadId='),
  };
  for (const [step, matches] of Object.entries(steps)) {
    for (const fault of [{ kind: 'lost' }, { kind: 'lostReply' }, SLOW_DOWN] as const) {
      test(`a multipart upload survives ${fault.kind} of ${step}`, async () => {
        const { store, direct } = open(fixture);
        const bytes = largeBytes(3 * PART_BYTES_MIN + 77);
        fixture.proxy.plan(first(1, fault, matches));
        assert.equal(await putObject(store, 'k', bytes), bytes.length);
        assert.ok(fixture.proxy.log.some((entry) => entry.fault === fault.kind));
        assert.ok(Buffer.from(await direct.read('k', 0, bytes.length)).equals(bytes));
        // A start whose reply was lost began an upload that nobody knows: the search for unfinished ones finds it.
        const unknown = step === 'the start' && fault.kind === 'lostReply' ? 1 : 0;
        assert.equal(await direct.removeUnfinished(THE_FUTURE), unknown);
        await close(store, direct);
      });
    }
  }

  test('a completion that answers 200 with an error in its body is not a success', async () => {
    const { store, direct } = open(fixture);
    const error = '<?xml version="1.0"?><Error><Code>InternalError</Code><Message>try again</Message></Error>';
    const completes = steps['the completion'] ?? isAny;
    fixture.proxy.plan(first(2, { kind: 'answer', status: 200, body: error }, completes));
    const bytes = largeBytes(2 * PART_BYTES_MIN + 1);
    assert.equal(await putObject(store, 'k', bytes), bytes.length);
    assert.equal(await direct.size('k'), bytes.length);
    await close(store, direct);
  });

  test('a part that cannot be sent fails the writer, stops the others, and abort leaves nothing', async () => {
    const { store, direct } = open(fixture, { attempts: 2 });
    fixture.proxy.plan(({ url }) => (url.includes('partNumber=2') ? SLOW_DOWN : undefined));
    const writer = await store.create('k');
    await assert.rejects(async () => {
      await writer.write(largeBytes(6 * PART_BYTES_MIN));
      await writer.commit();
    }, withCode('ERR_MILLRACE_UNAVAILABLE'));
    await assert.rejects(writer.write(patternBytes(1)), /AssertionError/);
    await writer.abort();
    assert.equal(await direct.removeUnfinished(THE_FUTURE), 0);
    assert.deepEqual(await keysIn(direct), []);
    await close(store, direct);
  });

  test('after a commit that stayed in doubt, abort removes what had become of it', async () => {
    const { store, direct } = open(fixture, { attempts: 1 });
    fixture.proxy.plan(first(1, { kind: 'lostReply' }, isPut));
    const writer = await store.create('k');
    await writer.write(patternBytes(10));
    await assert.rejects(writer.commit(), withCode('ERR_MILLRACE_UNAVAILABLE'));
    assert.deepEqual(await keysIn(direct), ['k'], 'the request had taken effect');
    await writer.abort();
    assert.deepEqual(await keysIn(direct), []);
    await close(store, direct);
  });
}

function readFaultTests(fixture: Fixture): void {
  test('a whole object changed on the way is read again; one that stays changed is damage', async () => {
    const { store, direct } = open(fixture);
    await putObject(direct, 'k', patternBytes(500));
    fixture.proxy.plan(first(1, { kind: 'flip', at: 77 }, isAny));
    assert.deepEqual(Buffer.from(await store.read('k', 0, 500)), Buffer.from(patternBytes(500)));
    fixture.proxy.plan(() => ({ kind: 'flip', at: 77 }));
    await assert.rejects(store.read('k', 0, 500), withCode('ERR_MILLRACE_SEGMENT_CORRUPT'));
    await close(store, direct);
  });

  test('an answer that does not say how long it is is not believed', async () => {
    const { store, direct } = open(fixture, { attempts: 1 });
    fixture.proxy.plan(() => ({ kind: 'answer', status: 206, body: 'x'.repeat(50) }));
    await assert.rejects(store.read('k', 10, 50), withCode('ERR_MILLRACE_READ_FAILED'));
    await close(store, direct);
  });

  test('a server that ignores ranges is believed only when the whole object was asked for', async () => {
    const { store, direct } = open(fixture, { attempts: 1 });
    fixture.proxy.plan(() => ({ kind: 'answer', status: 200, body: 'x'.repeat(50) }));
    assert.equal((await store.read('k', 0, 50)).length, 50);
    await assert.rejects(store.read('k', 0, 40), withCode('ERR_MILLRACE_READ_FAILED'));
    await assert.rejects(store.read('k', 10, 10), withCode('ERR_MILLRACE_READ_FAILED'));
    await assert.rejects(store.read('k', 0, 60), withCode('ERR_MILLRACE_SEGMENT_CORRUPT'));
    await close(store, direct);
  });
}

function deleteFaultTests(fixture: Fixture): void {
  test('keys that were throttled are asked for again, and those alone', async () => {
    const { store, direct } = open(fixture);
    const keys = ['a', 'b', 'c', 'd'];
    for (const key of keys) await putObject(direct, key, patternBytes(1));
    fixture.proxy.plan(first(2, SLOW_DOWN, (method) => method === 'POST'));
    assert.deepEqual((await store.delete(keys)).sort(), keys);
    assert.equal(fixture.proxy.log.length, 3);
    assert.deepEqual(await keysIn(direct), []);
    await close(store, direct);
  });

  test('a delete that stays throttled confirms nothing, and the next one can', async () => {
    const { store, direct } = open(fixture, { attempts: 3 });
    await putObject(direct, 'a', patternBytes(1));
    fixture.proxy.plan(() => SLOW_DOWN);
    assert.deepEqual(await store.delete(['a']), []);
    fixture.proxy.plan();
    assert.deepEqual(await store.delete(['a']), ['a']);
    await close(store, direct);
  });
}
