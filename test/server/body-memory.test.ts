/** What bodies that do not arrive whole may keep of the server's memory. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { lineMemory } from '../../src/codec/line-memory.ts';
import { ByteCollector } from '../../src/lines/byte-collector.ts';
import { LineCutter } from '../../src/lines/line-cutter.ts';
import { BodyMemory } from '../../src/server/body-memory.ts';
import { collectGarbage } from '../support/garbage.ts';
import { answerOf, served } from './server-fixture.ts';

const MIB = 1_048_576;

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

suite('bodies in memory', () => {
  test('a line that arrives byte by byte takes little more memory than its bytes', () => {
    const source = Buffer.alloc(300_000, 'a');
    const cutter = new LineCutter(lineMemory(1, 65_536), MIB, false);
    const bytes = new ByteCollector();
    const before = heapBytes();
    for (let index = 0; index < source.length; index += 1) {
      for (const _lines of cutter.cut(source.subarray(index, index + 1))) assert.fail('no line has ended');
      bytes.push(source.subarray(index, index + 1));
    }
    const grown = heapBytes() - before;
    assert.ok(grown < 8 * MIB, `${grown} bytes of objects for ${2 * source.length} bytes`);
    assert.deepEqual([cutter.pendingBytes, bytes.take().equals(source)], [source.length, true]);
  });

  test('so many large ones grow at once as fit, and the others go on in turn, or not at all', async () => {
    const memory = new BodyMemory(128 * MIB);
    const gone = new AbortController();
    const rooms = Array.from({ length: 5 }, () => memory.claim());
    const done: number[] = [];
    const waits = rooms.map((room, index) =>
      room.hold(MIB, index === 2 ? gone.signal : new AbortController().signal).then(
        () => done.push(index),
        () => done.push(-index),
      ),
    );
    await memory.claim().hold(1_000, gone.signal);
    await setImmediate();
    assert.deepEqual(done, [0, 1]);
    gone.abort();
    rooms[1]?.release();
    await setImmediate();
    assert.deepEqual(done, [0, 1, -2, 3]);
    for (const room of rooms) room.release();
    await Promise.all(waits);
    assert.deepEqual(done, [0, 1, -2, 3, 4]);
    rooms[4]?.release();
    await memory.claim().hold(MIB, new AbortController().signal);
  });

  test('a large record waits for the one before it to arrive, and for its client alone', async (t) => {
    const serving = await served(t, { maxLineBytes: 256 * MIB }, { wal: { slots: 2, slotBytes: 4 * MIB } });
    await serving.store.stream('s');
    const type = { 'content-type': 'application/octet-stream' };
    const half = Buffer.alloc(200_000, 'x');
    const [first, second, third] = ['a', 'b', 'c'].map((key) =>
      serving.start('POST', `/v1/streams/s/records?key=${key}`, type),
    );
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    await new Promise((resolve) => first.write(half, resolve));
    second.end(half);
    third.on('error', () => undefined);
    third.write(half);
    const answers = [answerOf(first), answerOf(second)];
    third.destroy();
    first.end(half);
    for (const answer of await Promise.all(answers)) assert.equal(answer.status, 200);
    const { nextOffset } = await (await serving.store.stream('s')).info();
    assert.equal(nextOffset, 2);
  });
});
