import assert from 'node:assert/strict';
import { closeSync, ftruncateSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ManualClock, systemClock } from '../../src/base/clock.ts';
import { fileInput } from '../../src/cli/file-input.ts';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
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
  const descriptor = openSync(file, 'r+');
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

  // From 2,000,000 bytes on, the lengths that it has after each chunk: the eighth is the last.
  const seven = Array.from<undefined>({ length: 7 });
  for (const [what, lengths, fails] of [
    ['that is made shorter while it is read is an error: its last line is cut off', [300_000], true],
    ['that is made empty while it is read is an error, too', [0], true],
    ['that grows while it is read, and is made shorter then, is one as well', [...seven, 4_000_000, 1_000], true],
    ['that grows while it is read is read to its end', [3_000_000], false],
    ['that is made empty once it was read is whole', [...seven, 0], false],
  ] as const) {
    it(what, async (t) => {
      const descriptor = fileOf(t, Buffer.alloc(2_000_000));
      const left: (number | undefined)[] = [...lengths];
      let bytes = 0;
      const reading = async (): Promise<void> => {
        for await (const chunk of fileInput(descriptor).chunks) {
          const length = left.shift();
          if (length !== undefined) ftruncateSync(descriptor, length);
          bytes += chunk.length;
        }
      };
      const now = lengths.at(-1);
      if (!fails) return assert.doesNotReject(reading).then(() => assert.equal(bytes, now === 0 ? 2_000_000 : now));
      const before = Math.max(2_000_000, ...lengths.map((length) => length ?? 0));
      await assert.rejects(reading, (error) => {
        assert.ok(isMillraceError(error, 'ERR_MILLRACE_READ_FAILED'), String(error));
        assert.deepEqual(error.details, { before, now, readBytes: bytes });
        return true;
      });
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
