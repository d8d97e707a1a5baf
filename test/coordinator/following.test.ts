/** A read-only coordinator beside the one that writes. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ManualClock } from '../../src/base/clock.ts';
import { withCode } from '../../src/testing/object-store-contract.ts';
import { makeStream, PLAIN } from '../../src/testing/coordinator/samples.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { RecordingFileSystem } from '../support/recording-file-system.ts';
import { CURRENT_PATH, dump, EVENTFUL, openOver, pathOf } from './fixture.ts';

suite('following a manifest', () => {
  for (const logBytesMin of [1, 700, 1e9]) {
    test(`each refresh shows what was committed before it, with logs of at least ${logBytesMin} bytes`, async () => {
      const disk = new SimulatedDisk({ directories: ['/store'] });
      const clock = new ManualClock(1_000_000);
      const writer = await openOver(disk, { clock, logBytesMin });
      const watched = new RecordingFileSystem(disk);
      const reader = await openOver(watched, { clock, readOnly: true });
      for (const step of EVENTFUL) {
        const before = await dump(reader);
        await step(writer, clock);
        assert.deepEqual(await dump(reader), before);
        await reader.refresh();
        assert.deepEqual(await dump(reader), await dump(writer));
      }
      await writer.close();
      await reader.refresh();
      await reader.close();
      for (const operation of ['write', 'truncate', 'sync', 'rename', 'remove', 'syncDirectory'] as const) {
        assert.equal(watched.count(operation), 0, `a reader does not ${operation}`);
      }
      assert.equal(watched.openHandles, 0);
    });
  }

  test('a block that is still being written is left for the next refresh', async () => {
    const disk = new SimulatedDisk({ directories: ['/store'] });
    const writer = await openOver(disk);
    await makeStream(writer, 'first');
    const early = disk.contentOf(pathOf(1, 'log')).slice();
    await makeStream(writer, 'second');
    const late = disk.contentOf(pathOf(1, 'log')).slice();
    const other = disk.copy();
    for (let length = early.length; length <= late.length; length += 1) {
      other.put(pathOf(1, 'log'), late.subarray(0, length));
      const reader = await openOver(other, { readOnly: true });
      const seen = (await reader.streams()).length;
      assert.ok(seen === 1 || late.subarray(length).every((byte) => byte === 0));
      await reader.close();
      assert.equal(other.contentOf(pathOf(1, 'log')).length, length);
    }
    await writer.close();
  });

  test('a half-seen block with a whole one behind it is read once more before it is called damaged', async () => {
    const disk = new SimulatedDisk({ directories: ['/store'] });
    const writer = await openOver(disk);
    const watched = new RecordingFileSystem(disk);
    const reader = await openOver(watched, { readOnly: true });
    const start = disk.contentOf(pathOf(1, 'log')).length;
    await makeStream(writer, 'first');
    await makeStream(writer, 'second');
    const log = disk.contentOf(pathOf(1, 'log'));
    log[start + 70]! ^= 1;
    let reads = 0;
    watched.on('read', ({ path }) => {
      if (path !== pathOf(1, 'log')) return;
      reads += 1;
      // The writer's bytes have all arrived by the second time.
      if (reads === 2) log[start + 70]! ^= 1;
    });
    await reader.refresh();
    assert.equal((await reader.streams()).length, 2);
    await reader.close();
    await writer.close();
  });

  test('damage that stays is reported, and what was seen before stays readable', async () => {
    const disk = new SimulatedDisk({ directories: ['/store'] });
    const writer = await openOver(disk);
    await makeStream(writer, 'first');
    const reader = await openOver(disk, { readOnly: true });
    const start = disk.contentOf(pathOf(1, 'log')).length;
    await makeStream(writer, 'second');
    await makeStream(writer, 'third');
    disk.contentOf(pathOf(1, 'log'))[start + 70]! ^= 1;
    for (let round = 0; round < 2; round += 1) {
      await assert.rejects(reader.refresh(), withCode('ERR_MILLRACE_MANIFEST_CORRUPT'));
      assert.equal((await reader.streams()).length, 1);
    }
    await reader.close();
    await writer.close();
  });

  test('refreshes at the same time all see what was there before them', async () => {
    const disk = new SimulatedDisk({ directories: ['/store'] });
    const writer = await openOver(disk, { logBytesMin: 300 });
    const reader = await openOver(disk, { readOnly: true });
    const waiting: Promise<void>[] = [];
    for (let index = 1; index <= 30; index += 1) {
      await makeStream(writer, `s${index}`);
      const seen = reader.refresh().then(async () => {
        assert.ok((await reader.streams()).length >= index);
      });
      waiting.push(seen);
    }
    await Promise.all(waiting);
    await reader.close();
    await writer.close();
  });

  test('files that are swapped away while they are opened are looked for anew', async () => {
    const disk = new SimulatedDisk({ directories: ['/store'] });
    const writer = await openOver(disk, { logBytesMin: 1 });
    await makeStream(writer, 'first');
    const watched = new RecordingFileSystem(disk);
    let swaps = 0;
    watched.on('open', async ({ path }) => {
      if (path.endsWith('.snapshot') && swaps < 3) {
        swaps += 1;
        await makeStream(writer, `swap ${swaps}`);
      }
    });
    const reader = await openOver(watched, { readOnly: true });
    assert.equal((await reader.streams()).length, 4);
    await reader.close();
    await writer.close();
    assert.equal(watched.openHandles, 0);
  });

  test('changes are refused', async () => {
    const disk = new SimulatedDisk({ directories: ['/store'] });
    await (await openOver(disk)).close();
    const reader = await openOver(disk, { readOnly: true });
    const readOnly = withCode('ERR_MILLRACE_READ_ONLY');
    await assert.rejects(reader.createStream('s', PLAIN), readOnly);
    await assert.rejects(reader.reserveObjects(1), readOnly);
    await assert.rejects(reader.expire(), readOnly);
    await reader.close();
    await reader.close();
    await assert.rejects(reader.streams(), withCode('ERR_MILLRACE_CLOSED'));
  });

  test('without a manifest there is nothing to follow, and nothing is made', async () => {
    const disk = new SimulatedDisk({ directories: ['/store'] });
    await assert.rejects(openOver(disk, { readOnly: true }), withCode('ERR_MILLRACE_STORE_NOT_FOUND'));
    assert.equal(disk.statSync(CURRENT_PATH), undefined);
  });
});
