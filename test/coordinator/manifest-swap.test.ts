/** Power fails, or the disk does, at any operation: what was acknowledged is there, the rest is whole or absent. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ManualClock } from '../../src/base/clock.ts';
import type { FileSystem } from '../../src/base/file-system.ts';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { withCode } from '../../src/testing/object-store-contract.ts';
import { makeStream, PLAIN } from '../../src/testing/coordinator/samples.ts';
import { survivingPages } from '../../src/testing/disk/power-loss.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { systemError } from '../../src/testing/disk/calls.ts';
import { RecordingFileSystem, type Operation } from '../support/recording-file-system.ts';
import { CLOSE_MARK_PATH, CURRENT_PATH, DIRECTORY, dump, EVENTFUL, openOver, pathOf } from './fixture.ts';

const CHANGING: readonly Operation[] = ['open', 'write', 'sync', 'rename', 'syncDirectory', 'remove', 'truncate'];

/** Steps of the history that commit more than once: a crash may find them half done. */
const SEVERAL_COMMITS: readonly number[] = [11, 14];

function longName(index: number): string {
  return String(index).padStart(200, '-');
}

/** Lets the first `allowed` changing operations through and fails all later ones, as a machine that went away. */
function failAfter(fileSystem: RecordingFileSystem, allowed: number): { readonly failed: () => boolean } {
  let count = 0;
  for (const operation of CHANGING) {
    fileSystem.on(operation, ({ mode }) => {
      if (operation === 'open' && mode?.access === 'read') return;
      count += 1;
      if (count > allowed) throw systemError('EIO');
    });
  }
  return { failed: () => count > allowed };
}

/** Runs the history until something fails; returns the states that were acknowledged, in order. */
async function run(fileSystem: FileSystem, history: typeof EVENTFUL, logBytesMin = 600): Promise<unknown[]> {
  const clock = new ManualClock(1_000_000);
  const states: unknown[] = [];
  try {
    const coordinator = await openOver(fileSystem, { clock, logBytesMin });
    states.push(await dump(coordinator));
    for (const step of history) {
      await step(coordinator, clock);
      states.push(await dump(coordinator));
    }
    await coordinator.close();
  } catch (error) {
    assert.ok(isMillraceError(error, 'ERR_MILLRACE_WRITE_FAILED'), String(error));
  }
  return states;
}

async function dumpOf(fileSystem: SimulatedDisk): Promise<unknown> {
  const coordinator = await openOver(fileSystem, { clock: new ManualClock(1) });
  try {
    return await dump(coordinator);
  } finally {
    await coordinator.close();
  }
}

suite('manifest swap', () => {
  test('whichever operation fails, reopening finds all that was acknowledged', async () => {
    const complete = await run(new SimulatedDisk({ directories: ['/store'] }), EVENTFUL, 1);
    let swaps = 0;
    for (let allowed = 0; ; allowed += 1) {
      const disk = new SimulatedDisk({ directories: ['/store'] });
      const faulty = new RecordingFileSystem(disk);
      const { failed } = failAfter(faulty, allowed);
      const states = await run(faulty, EVENTFUL, 1);
      if (!failed()) break;
      if (faulty.count('rename') > 2) swaps += 1;
      const found = await dumpOf(disk);
      const acknowledged = Math.max(0, states.length - 1);
      // A step may be several commits, some of which were made: then the state is a sound one in between.
      const known = complete.slice(acknowledged, acknowledged + 2).some((state) => equal(state, found));
      assert.ok(known || SEVERAL_COMMITS.includes(acknowledged), `after ${allowed} operations`);
      assert.deepEqual((found as { violations: unknown }).violations, []);
      assert.equal(disk.listSync(DIRECTORY).length, 4, 'nothing is left over');
    }
    assert.ok(swaps > 50);
  });

  const surviving: [string, (page: number) => boolean][] = [
    ['no page', () => false],
    ['every page', () => true],
    ['every other page', (page) => page % 2 === 0],
    ['the other pages', (page) => page % 2 === 1],
  ];
  for (const [what, keep] of surviving) {
    test(`power loss during any write, of which ${what} reaches the disk, keeps what was acknowledged`, async () => {
      // Long names make blocks of several pages.
      const history: typeof EVENTFUL = [
        ...EVENTFUL,
        (coordinator) =>
          Promise.all(Array.from({ length: 60 }, (_, index) => makeStream(coordinator, longName(index)))),
      ];
      const complete = await run(new SimulatedDisk({ directories: ['/store'] }), history);
      for (let write = 1; ; write += 1) {
        const disk = new SimulatedDisk({ directories: ['/store'] });
        let writes = 0;
        disk.onStep = ({ operation }) => {
          if (operation !== 'write') return;
          writes += 1;
          if (writes < write) return;
          disk.losePower(survivingPages((_path, page) => keep(page)));
          throw systemError('EIO');
        };
        const states = await run(disk, history);
        if (writes < write) break;
        const found = await dumpOf(disk);
        const acknowledged = Math.max(0, states.length - 1);
        const known = complete.slice(acknowledged, acknowledged + 2).some((state) => equal(state, found));
        assert.ok(known || SEVERAL_COMMITS.includes(acknowledged), `power loss at write ${write}`);
        assert.deepEqual((found as { violations: unknown }).violations, []);
      }
    });
  }

  const namesKept: [string, (index: number) => boolean][] = [
    ['none', () => false],
    ['the first', (index) => index === 0],
    ['all but the first', (index) => index > 0],
  ];
  for (const [which, keep] of namesKept) {
    test(`power loss at any step, after which of the changed names ${which} is there, keeps what was acknowledged`, async () => {
      const history = EVENTFUL.slice(0, SEVERAL_COMMITS[0]);
      const complete = await run(new SimulatedDisk({ directories: ['/store'] }), history);
      for (let last = 1; ; last += 1) {
        const disk = new SimulatedDisk({ directories: ['/store'] });
        let steps = 0;
        disk.onStep = () => {
          steps += 1;
          if (steps < last) return;
          disk.losePower({ ...survivingPages(() => true), name: (_directory, index) => keep(index) });
          throw systemError('EIO');
        };
        const states = await run(disk, history);
        if (steps < last) break;
        const acknowledged = Math.max(0, states.length - 1);
        const found = await dumpOf(disk);
        const known = complete.slice(acknowledged, acknowledged + 2).some((state) => equal(state, found));
        assert.ok(known, `power loss at step ${last}`);
      }
    });
  }

  test('leftovers of a swap that did not finish are removed at open; foreign names stay', async () => {
    const disk = new SimulatedDisk({ directories: ['/store'] });
    const coordinator = await openOver(disk);
    await coordinator.createStream('s', PLAIN);
    await coordinator.close();
    for (const name of [
      pathOf(2, 'snapshot'),
      pathOf(2, 'log'),
      `${CURRENT_PATH}.tmp`,
      `${CLOSE_MARK_PATH}.tmp`,
      `${pathOf(3, 'snapshot')}.tmp`,
    ]) {
      disk.put(name, Uint8Array.of(1));
    }
    disk.put(`${DIRECTORY}/notes.txt`, Uint8Array.of(1));
    await (await openOver(disk)).close();
    const names = disk.listSync(DIRECTORY).sort();
    assert.deepEqual(names, [
      '0000000000000001.log',
      '0000000000000001.snapshot',
      'CURRENT',
      'LAST-CLOSE',
      'notes.txt',
    ]);
  });

  test('a creation that did not finish is begun again', async () => {
    const whole = new SimulatedDisk({ directories: ['/store'] });
    await (await openOver(whole)).close();
    const disk = new SimulatedDisk({ directories: ['/store'] });
    disk.put(pathOf(1, 'snapshot'), whole.contentOf(pathOf(1, 'snapshot')));
    disk.put(`${CURRENT_PATH}.tmp`, new Uint8Array(0));
    await (await openOver(disk)).close();
    assert.equal(disk.listSync(DIRECTORY).length, 4);
  });

  test('a CURRENT that got lost is not taken for a new store', async () => {
    const disk = new SimulatedDisk({ directories: ['/store'] });
    const coordinator = await openOver(disk);
    await coordinator.createStream('s', PLAIN);
    await coordinator.close();
    disk.removeSync(CURRENT_PATH);
    await assert.rejects(openOver(disk), withCode('ERR_MILLRACE_MANIFEST_CORRUPT'));
    assert.ok(disk.statSync(pathOf(1, 'log')) !== undefined);
  });

  for (const kind of ['snapshot', 'log'] as const) {
    test(`a ${kind} that CURRENT names and that is missing is damage`, async () => {
      const disk = new SimulatedDisk({ directories: ['/store'] });
      await (await openOver(disk)).close();
      disk.removeSync(pathOf(1, kind));
      await assert.rejects(openOver(disk), withCode('ERR_MILLRACE_MANIFEST_CORRUPT'));
    });
  }

  test('a log of another generation does not continue this snapshot', async () => {
    const disk = new SimulatedDisk({ directories: ['/store'] });
    const coordinator = await openOver(disk, { logBytesMin: 1 });
    await coordinator.createStream('s', PLAIN);
    await coordinator.close();
    const other = new SimulatedDisk({ directories: ['/store'] });
    const stranger = await openOver(other, { logBytesMin: 1 });
    await stranger.createStream('t', PLAIN);
    await stranger.close();
    disk.put(pathOf(2, 'log'), other.contentOf(pathOf(2, 'log')));
    await assert.rejects(openOver(disk), withCode('ERR_MILLRACE_MANIFEST_CORRUPT'));
  });

  test('the last block is written again at open, in case its sync had failed', async () => {
    const disk = new SimulatedDisk({ directories: ['/store'] });
    const coordinator = await openOver(disk);
    await coordinator.createStream('s', PLAIN);
    const log = disk.contentOf(pathOf(1, 'log')).slice();
    const recording = new RecordingFileSystem(disk.copy());
    await openOver(recording);
    const writes = recording.calls.filter(({ operation }) => operation === 'write');
    assert.deepEqual(
      writes.map(({ path }) => path),
      [pathOf(1, 'log')],
    );
    assert.equal(writes[0]!.length, log.length - 72);
    assert.ok(recording.count('sync') >= 1);
    await coordinator.close();
  });
});

function equal(left: unknown, right: unknown): boolean {
  try {
    assert.deepEqual(left, right);
    return true;
  } catch {
    return false;
  }
}
