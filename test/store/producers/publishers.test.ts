/** Publishers in the threads of producers: each record is in the stream once, whichever thread sends it again. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { attachProducer, isMillraceError, type Published, type Stream } from '../../../src/index.ts';
import { coded, StoreFolder, texts } from '../../support/test-store.ts';
import { ProducerWorker } from './producer-worker.ts';

const values = (...ids: number[]): string[] => ids.map((id) => `p-${id}`);

async function publish(stream: Pick<Stream, 'publisher'>, ...ids: number[]): Promise<string[]> {
  const publisher = stream.publisher('p');
  return summary(await publisher.appendMany(ids.map((id) => ({ publishingId: id, value: `p-${id}` }))));
}

function summary(answers: readonly Published[]): string[] {
  return answers.map(({ offset, duplicate }) => `${duplicate ? 'duplicate' : 'new'} ${String(offset)}`);
}

suite('publishers of producers', () => {
  test('go on where they were in the store, and the store goes on where they were', async (t) => {
    const store = await new StoreFolder(t).open();
    const stream = await store.stream('a');
    assert.deepEqual(await publish(stream, 1, 2, 3), ['new 0', 'new 1', 'new 2']);
    const producer = await ProducerWorker.start(store);
    t.after(() => producer.kill());
    await producer.do({ type: 'stream', name: 'a' });
    const there = async (...ids: number[]): Promise<string[]> =>
      summary((await producer.do({ type: 'publish', name: 'a', reference: 'p', ids })) as Published[]);
    assert.deepEqual(await there(3), ['duplicate 2']);
    assert.deepEqual(await there(2, 3, 4, 5, 4), [
      'duplicate undefined',
      'duplicate undefined',
      'new 3',
      'new 4',
      'duplicate undefined',
    ]);
    // Its claim of id 3 is not the last word any more.
    assert.equal(await stream.publisher('p').lastPublishingId(), 5);
    await assert.rejects(publish(stream, 6), coded('ERR_MILLRACE_STREAM_HELD'));
    await producer.do({ type: 'release', name: 'a' });
    assert.deepEqual(await publish(stream, 4, 5), ['duplicate undefined', 'duplicate 4']);
    assert.deepEqual(await publish(stream, 5, 6), ['duplicate undefined', 'new 5']);
    await producer.do({ type: 'stream', name: 'a' });
    assert.deepEqual(await there(6), ['duplicate 5']);
    assert.deepEqual(await there(6, 7), ['duplicate undefined', 'new 6']);
    assert.deepEqual(await texts(stream.read()), values(1, 2, 3, 4, 5, 6, 7));
  });

  test('what a thread that died had published is known to the store, and after the next opening', async (t) => {
    const folder = new StoreFolder(t);
    const store = await folder.open();
    const producer = await ProducerWorker.start(store);
    await producer.do({ type: 'stream', name: 'a' });
    await producer.do({ type: 'publish', name: 'a', reference: 'p', ids: [1, 2, 9] });
    await producer.kill();
    const stream = await store.stream('a');
    let answers: string[] | undefined;
    // The end of the thread is noticed in time, not at once.
    while (answers === undefined) {
      answers = await publish(stream, 2, 9).catch(async (error: unknown) => {
        assert.ok(isMillraceError(error, 'ERR_MILLRACE_STREAM_HELD'));
        await sleep(5);
        return undefined;
      });
    }
    assert.deepEqual(answers, ['duplicate undefined', 'duplicate 2']);
    assert.deepEqual(await publish(stream, 10), ['new 3']);
    await store.close();
    const again = await (await folder.open()).stream('a');
    assert.deepEqual(await publish(again, 10), ['duplicate 3']);
    assert.deepEqual(await publish(again, 10, 11), ['duplicate undefined', 'new 4']);
    assert.deepEqual(await texts(again.read()), values(1, 2, 9, 10, 11));
  });

  test('what is in the log of a lane alone is known after a crash', async (t) => {
    const folder = new StoreFolder(t);
    const store = await folder.open();
    const producer = await attachProducer(await store.producer());
    const stream = await producer.stream('a');
    await publish(stream, 1, 2, 9);
    const recovered = await (await folder.openKilled()).stream('a');
    assert.deepEqual(await publish(recovered, 9), ['duplicate 2']);
    assert.deepEqual(await publish(recovered, 2, 9, 10), ['duplicate undefined', 'duplicate undefined', 'new 3']);
    assert.deepEqual(await texts(recovered.read()), values(1, 2, 9, 10));
    await producer.close();
  });

  test('what a producer was told of is known to the store at once', async (t) => {
    const store = await new StoreFolder(t).open();
    const stream = await store.stream('a');
    const producer = await attachProducer(await store.producer());
    const held = (await producer.stream('a')).publisher('p');
    for (let id = 1; id <= 50; id += 1) {
      await held.append(id, 'x');
      assert.equal(await stream.publisher('p').lastPublishingId(), id);
    }
    await producer.close();
  });

  test('are counted as the tracking that they are, and are refused once their stream is given back', async (t) => {
    const store = await new StoreFolder(t).open();
    const producer = await attachProducer(await store.producer());
    const stream = await producer.stream('a');
    const publisher = stream.publisher('p');
    assert.equal(stream.publisher('p'), publisher);
    assert.equal(await publisher.lastPublishingId(), undefined);
    const all = await Promise.all([5, 6, 6, 7].map((id) => publisher.append(id, `p-${id}`)));
    assert.deepEqual(summary(all), ['new 0', 'new 1', 'duplicate 1', 'new 2']);
    assert.equal(await publisher.lastPublishingId(), 7);
    await store.flush();
    const { tracking } = store.stats();
    assert.equal(tracking?.publishers, 1);
    assert.ok(tracking.bytes > 0);
    assert.throws(() => stream.publisher(''), coded('ERR_MILLRACE_INVALID_REFERENCE'));
    await stream.release();
    await assert.rejects(publisher.append(8, 'x'), coded('ERR_MILLRACE_CLOSED'));
    await producer.close();
  });
});
