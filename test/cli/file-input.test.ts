import assert from 'node:assert/strict';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ManualClock, systemClock } from '../../src/base/clock.ts';
import { fileInput } from '../../src/cli/file-input.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Whose every look at the time is a second after the last: all reads take long. */
class SlowClock extends ManualClock {
  override monotonic(): number {
    this.advance(1_000);
    return super.monotonic();
  }
}

function fileOf(t: TestContext, bytes: Buffer): number {
  const directory = temporaryDirectory();
  const file = join(directory.path, 'lines');
  writeFileSync(file, bytes);
  const descriptor = openSync(file, 'r');
  t.after(() => {
    closeSync(descriptor);
    directory.remove();
  });
  return descriptor;
}

describe('a file as input', () => {
  for (const [what, clock] of [
    ['quickly', systemClock],
    ['slowly', new SlowClock()],
  ] as const) {
    it(`that is read ${what} gives all of its bytes, in memory that is used again`, async (t) => {
      const bytes = Buffer.alloc(3_000_001);
      for (let at = 0; at < bytes.length; at += 1) bytes[at] = Math.imul(at, 0x9e3779b1) >>> 24;
      const { memory, chunks } = fileInput(fileOf(t, bytes), undefined, clock);
      const read: Buffer[] = [];
      const places = new Set<number>();
      for await (const chunk of chunks) {
        assert.ok(memory.holds(chunk));
        places.add(chunk.byteOffset);
        read.push(Buffer.from(chunk));
      }
      assert.ok(Buffer.concat(read).equals(bytes));
      assert.equal(places.size, 1);
    });
  }

  it('ends early when it is told to', async (t) => {
    const stop = new AbortController();
    const { chunks } = fileInput(fileOf(t, Buffer.alloc(2_000_000)), stop.signal);
    let count = 0;
    for await (const _chunk of chunks) {
      count += 1;
      stop.abort();
    }
    assert.equal(count, 1);
  });
});
