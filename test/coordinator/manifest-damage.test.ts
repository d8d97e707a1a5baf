/** Torn writes lose what was never acknowledged; damage is found, or is where nothing is believed. */
import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { ManualClock } from '../../src/base/clock.ts';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { withCode } from '../../src/testing/object-store-contract.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { CLOSE_MARK_PATH, CURRENT_PATH, dump, EVENTFUL, openOver, pathOf } from './fixture.ts';

const corrupt = withCode('ERR_MILLRACE_MANIFEST_CORRUPT');

/** What the history leads to after each step, and how long the log is then. */
interface Recorded {
  readonly fileSystem: SimulatedDisk;
  readonly stages: readonly { readonly bytes: number; readonly state: unknown }[];
}

async function record(): Promise<Recorded> {
  const fileSystem = new SimulatedDisk({ directories: ['/store'] });
  const clock = new ManualClock(1_000_000);
  const coordinator = await openOver(fileSystem, { clock });
  const bytes = (): number => fileSystem.contentOf(pathOf(1, 'log')).length;
  const stages = [{ bytes: bytes(), state: await dump(coordinator) }];
  for (const step of EVENTFUL) {
    await step(coordinator, clock);
    stages.push({ bytes: bytes(), state: await dump(coordinator) });
  }
  return { fileSystem, stages };
}

async function dumpOf(fileSystem: SimulatedDisk): Promise<unknown> {
  const coordinator = await openOver(fileSystem, { clock: new ManualClock(1) });
  try {
    return await dump(coordinator);
  } finally {
    await coordinator.close();
  }
}

/** Opens a copy in which one bit is wrong; the state, or the code of the error. */
async function withFlip(fileSystem: SimulatedDisk, path: string, index: number, bit: number): Promise<unknown> {
  const copy = fileSystem.copy();
  const content = copy.contentOf(path);
  content[index] = content[index]! ^ (1 << bit);
  try {
    return await dumpOf(copy);
  } catch (error) {
    assert.ok(isMillraceError(error), `a coded error, not ${String(error)}`);
    return error.code;
  }
}

const DETECTED = new Set<unknown>([
  'ERR_MILLRACE_MANIFEST_CORRUPT',
  'ERR_MILLRACE_FOREIGN_FILE',
  'ERR_MILLRACE_FORMAT_TOO_NEW',
]);

suite('manifest damage', () => {
  let recorded: Recorded;
  before(async () => {
    recorded = await record();
  });

  test('every step of the history is a change, and the state is sound', () => {
    const { stages } = recorded;
    for (const [index, { bytes, state }] of stages.entries()) {
      assert.ok(index === 0 || bytes > stages[index - 1]!.bytes);
      assert.deepEqual((state as { violations: unknown }).violations, []);
    }
  });

  test('a log torn at any byte opens as of its last whole block, and takes appends again', async () => {
    const { fileSystem, stages } = recorded;
    const log = fileSystem.contentOf(pathOf(1, 'log')).slice();
    for (let length = 0; length <= log.length; length += 1) {
      const copy = fileSystem.copy();
      copy.put(pathOf(1, 'log'), log.subarray(0, length));
      if (length < stages[0]!.bytes) {
        await assert.rejects(openOver(copy), corrupt);
        continue;
      }
      const stage = stages.findLast(({ bytes }) => bytes <= length)!;
      const coordinator = await openOver(copy, { clock: new ManualClock(1) });
      const state = await dump(coordinator);
      // A step may take several blocks: between two stages the state is sound, and of neither.
      if (length === stage.bytes) assert.deepEqual(state, stage.state);
      else assert.deepEqual((state as { violations: unknown }).violations, []);
      if (length % 7 > 0) {
        await coordinator.close();
        continue;
      }
      await coordinator.createStream('after the crash', { compression: 'lz4', retention: {}, cleanup: 'delete' });
      const after = await dump(coordinator);
      await coordinator.close();
      assert.deepEqual(await dumpOf(copy), after);
    }
  });

  test('a tail of zeros, as a file grown before its data, is torn too', async () => {
    const { fileSystem, stages } = recorded;
    const copy = fileSystem.copy();
    copy.put(pathOf(1, 'log'), Buffer.concat([fileSystem.contentOf(pathOf(1, 'log')), new Uint8Array(9000)]));
    assert.deepEqual(await dumpOf(copy), stages.at(-1)!.state);
  });

  test('after a crash, a wrong bit in the log is found, unless it is in the last block or in padding', async () => {
    const { fileSystem, stages } = recorded;
    const { length } = fileSystem.contentOf(pathOf(1, 'log'));
    const last = stages.at(-1)!;
    const beforeLast = stages.at(-2)!;
    const from = stages.at(-4)!.bytes;
    let found = 0;
    for (let index = from; index < length; index += 1) {
      const outcome = await withFlip(fileSystem, pathOf(1, 'log'), index, index % 8);
      if (DETECTED.has(outcome)) found += 1;
      else if (index < beforeLast.bytes) assert.deepEqual(outcome, last.state, `byte ${index}`);
      else
        assert.ok(
          [last.state, beforeLast.state].some((state) => same(state, outcome)),
          `byte ${index}`,
        );
    }
    assert.ok(found > (beforeLast.bytes - from) * 0.9);
  });

  test('after a clean close, no wrong bit anywhere changes the state', async () => {
    const fileSystem = recorded.fileSystem.copy();
    const state = await dumpOf(fileSystem);
    for (const path of [pathOf(1, 'log'), pathOf(1, 'snapshot'), CURRENT_PATH]) {
      for (let index = 0; index < fileSystem.contentOf(path).length; index += 1) {
        const outcome = await withFlip(fileSystem, path, index, (index * 3) % 8);
        if (!DETECTED.has(outcome)) assert.deepEqual(outcome, state, `${path} byte ${index}`);
      }
    }
  });

  test('after a clean close, a log that is cut anywhere in front of its last change is refused', async () => {
    const fileSystem = recorded.fileSystem.copy();
    const changes = fileSystem.contentOf(pathOf(1, 'log')).length;
    const state = await dumpOf(fileSystem);
    const log = fileSystem.contentOf(pathOf(1, 'log')).slice();
    for (let length = 0; length <= log.length; length += 1) {
      const copy = fileSystem.copy();
      copy.put(pathOf(1, 'log'), log.subarray(0, length));
      if (length < changes) await assert.rejects(openOver(copy), corrupt, `cut to ${length}`);
      else assert.deepEqual(await dumpOf(copy), state);
    }
  });

  test('the log of another time, put back after a clean close, is refused; a longer one is not', async () => {
    const fileSystem = recorded.fileSystem.copy();
    await dumpOf(fileSystem);
    const [log, mark] = [pathOf(1, 'log'), CLOSE_MARK_PATH].map((path) => fileSystem.contentOf(path).slice());
    const later = fileSystem.copy();
    const coordinator = await openOver(later);
    await coordinator.trim(1, 3);
    const state = await dump(coordinator);
    await coordinator.close();
    const stale = later.copy();
    stale.put(pathOf(1, 'log'), log!);
    await assert.rejects(openOver(stale), (error) => {
      assert.ok(isMillraceError(error, 'ERR_MILLRACE_MANIFEST_CORRUPT'));
      assert.match(error.message, /the log ends here, and reached to \d+ when the store was closed/);
      return true;
    });
    later.put(CLOSE_MARK_PATH, mark!);
    assert.deepEqual(await dumpOf(later), state);
  });

  test('another history of the same length is refused', async () => {
    const [left, right] = [recorded.fileSystem.copy(), recorded.fileSystem.copy()];
    for (const [disk, offset] of [
      [left, 3],
      [right, 4],
    ] as const) {
      const coordinator = await openOver(disk);
      await coordinator.trim(1, offset);
      await coordinator.close();
    }
    left.put(pathOf(1, 'log'), right.contentOf(pathOf(1, 'log')));
    await assert.rejects(openOver(left), /not the one that was there when the store was closed/);
  });

  test('a full disk keeps the mark of before, and can be closed on', async () => {
    for (const operation of ['create', 'write', 'sync', 'rename', 'syncDirectory'] as const) {
      const fileSystem = recorded.fileSystem.copy();
      await dumpOf(fileSystem);
      const coordinator = await openOver(fileSystem);
      await coordinator.trim(1, 3);
      const state = await dump(coordinator);
      let full = 0;
      fileSystem.onCall = (call) => {
        const isMark = call.operation === operation && /LAST-CLOSE|manifest$/.test(call.path);
        full += isMark ? 1 : 0;
        return isMark ? { error: full % 2 === 0 ? 'EDQUOT' : 'ENOSPC' } : undefined;
      };
      await coordinator.close();
      fileSystem.onCall = undefined;
      assert.equal(full, 1, operation);
      assert.ok(!fileSystem.listSync('/store/manifest').includes('LAST-CLOSE.tmp'));
      assert.deepEqual(await dumpOf(fileSystem), state);
    }
  });

  test('a mark that is damaged, cut or gone costs nothing but what it would have told', async () => {
    const fileSystem = recorded.fileSystem.copy();
    const state = await dumpOf(fileSystem);
    const mark = fileSystem.contentOf(CLOSE_MARK_PATH).slice();
    const none = fileSystem.copy();
    none.removeSync(CLOSE_MARK_PATH);
    assert.deepEqual(await dumpOf(none), state);
    for (let index = 0; index < mark.length; index += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        assert.deepEqual(await withFlip(fileSystem, CLOSE_MARK_PATH, index, bit), state, `bit ${bit} of ${index}`);
      }
      const copy = fileSystem.copy();
      copy.put(CLOSE_MARK_PATH, mark.subarray(0, index));
      assert.deepEqual(await dumpOf(copy), state);
    }
  });

  test('no wrong bit in a snapshot changes the state', async () => {
    const fileSystem = recorded.fileSystem.copy();
    const coordinator = await openOver(fileSystem, { logBytesMin: 1 });
    await coordinator.createStream('one more', { compression: 'lz4', retention: {}, cleanup: 'delete' });
    await coordinator.close();
    const state = await dumpOf(fileSystem);
    const { length } = fileSystem.contentOf(pathOf(2, 'snapshot'));
    assert.ok(length > 300);
    for (let index = 0; index < length; index += 1) {
      const outcome = await withFlip(fileSystem, pathOf(2, 'snapshot'), index, index % 8);
      if (!DETECTED.has(outcome)) assert.deepEqual(outcome, state, `byte ${index}`);
    }
    for (let cut = 0; cut < length; cut += 1) {
      const copy = fileSystem.copy();
      copy.put(pathOf(2, 'snapshot'), fileSystem.contentOf(pathOf(2, 'snapshot')).subarray(0, cut));
      await assert.rejects(openOver(copy), corrupt);
    }
  });

  test('damage names the file and the position of the block', async () => {
    const { fileSystem, stages } = recorded;
    const copy = fileSystem.copy();
    copy.contentOf(pathOf(1, 'log'))[stages[3]!.bytes + 20]! ^= 1;
    await assert.rejects(openOver(copy), (error) => {
      assert.ok(isMillraceError(error, 'ERR_MILLRACE_MANIFEST_CORRUPT'));
      assert.deepEqual(error.details, { file: pathOf(1, 'log'), position: stages[3]!.bytes });
      return true;
    });
  });

  test('a block of another place of the same log does not pass', async () => {
    const { fileSystem, stages } = recorded;
    const copy = fileSystem.copy();
    const log = copy.contentOf(pathOf(1, 'log'));
    const size = stages[2]!.bytes - stages[1]!.bytes;
    log.copyWithin(stages[2]!.bytes, stages[1]!.bytes, stages[1]!.bytes + size);
    await assert.rejects(openOver(copy), corrupt);
  });
});

function same(left: unknown, right: unknown): boolean {
  try {
    assert.deepEqual(left, right);
    return true;
  } catch {
    return false;
  }
}
