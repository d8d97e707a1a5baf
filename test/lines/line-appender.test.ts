/** What becomes of lines on their way into a stream. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { lineMemory } from '../../src/codec/line-memory.ts';
import { type AppendTarget, BoundedAppender } from '../../src/lines/bounded-appender.ts';
import { LineAppender } from '../../src/lines/line-appender.ts';
import { lineReader } from '../../src/lines/line-reader.ts';
import { PackedValues } from '../../src/record/packed-values.ts';
import type { RecordInput } from '../../src/record/record-input.ts';

/** Keeps what it is given, as text, and refuses what has a question mark. */
class Taker implements AppendTarget {
  readonly values: string[] = [];
  /** Of calls, until they are settled by hand. */
  readonly open: (() => void)[] = [];

  appendOrThrow(records: readonly RecordInput[] | PackedValues): Promise<number> {
    const values = (records instanceof PackedValues ? records.values() : records).map((record) =>
      String(record instanceof Uint8Array ? record : (record as { value: unknown }).value),
    );
    if (values.some((value) => value.includes('?'))) throw new Error('refused');
    const first = this.values.length;
    this.values.push(...values);
    return new Promise((resolve) => {
      this.open.push(() => {
        resolve(first);
      });
    });
  }

  settle(): void {
    for (const settle of this.open.splice(0)) settle();
  }
}

const OPTIONS = { maxLineBytes: 1_000 };

describe('an appender of lines', () => {
  for (const field of [undefined, 'k']) {
    it(`sends nothing behind what is refused, ${field === undefined ? 'of lines as they are' : 'with keys'}`, async () => {
      const taker = new Taker();
      const appender = new BoundedAppender(taker);
      const reader = lineReader('lines', field);
      const lines = new LineAppender(lineMemory(1, 100), appender, { ...OPTIONS, reader });
      await lines.push(Buffer.from('{"k":1}\n{"k":2,"x":"'));
      await assert.rejects(lines.push(Buffer.from('?"}\n{"k":3}\n')), /refused/);
      await assert.rejects(lines.push(Buffer.from('{"k":4}\n')), /refused/);
      assert.deepEqual(taker.values, ['{"k":1}']);
      taker.settle();
      await appender.settled();
      assert.equal(appender.kept.records, 1);
    });
  }

  it('keeps in order what comes before there is a stream, and makes none without lines', async () => {
    const taker = new Taker();
    let opened = 0;
    let opens: ((target: AppendTarget) => void) | undefined;
    const appender = new BoundedAppender(() => {
      opened += 1;
      return new Promise((resolve) => {
        opens = resolve;
      });
    });
    const lines = new LineAppender(lineMemory(1, 4), appender, OPTIONS);
    await lines.push(Buffer.from('no end'));
    assert.equal(opened, 0);
    await lines.push(Buffer.from('\na\nb\nc\nd\ne\n'));
    opens?.(taker);
    await lines.push(Buffer.from('f\n'));
    await setImmediate();
    await lines.push(Buffer.from('g\n'));
    assert.deepEqual([opened, taker.values], [1, ['no end', 'a', 'b', 'c', 'd', 'e', 'f', 'g']]);
  });

  it('rejects when there is no stream to be had, and nothing stays on the way', async () => {
    const appender = new BoundedAppender(() => Promise.reject(new Error('no stream')));
    const lines = new LineAppender(lineMemory(1, 100), appender, OPTIONS);
    await lines.push(Buffer.from('a\n'));
    await assert.rejects(appender.finish(), /no stream/);
    await appender.settled();
    await assert.rejects(lines.push(Buffer.from('b\n')), /no stream/);
  });

  it('waits while too much is on the way', async () => {
    const taker = new Taker();
    const lines = new LineAppender(lineMemory(1, 100), new BoundedAppender(taker, 50), OPTIONS);
    let gone = false;
    const pushed = lines.push(Buffer.from(`${'x'.repeat(60)}\n${'y'.repeat(100)}\n`)).then(() => {
      gone = true;
    });
    await setImmediate();
    assert.deepEqual([gone, taker.values.length], [false, 1]);
    taker.settle();
    await setImmediate();
    taker.settle();
    await pushed;
    assert.equal(taker.values.length, 2);
  });
});
