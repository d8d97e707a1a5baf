/** Files that are whole, and not ours to open. */
import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import { viewOf } from '../../src/base/bytes.ts';
import { loadChecksum, xxh64 } from '../../src/codec/checksum.ts';
import { BLOCK_FIELD, blockSeed } from '../../src/coordinator/manifest/format.ts';
import { withCode } from '../../src/testing/object-store-contract.ts';
import { PLAIN } from '../../src/testing/coordinator/samples.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { CURRENT_PATH, openOver, pathOf } from './fixture.ts';

async function made(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk({ directories: ['/store'] });
  const coordinator = await openOver(disk);
  await coordinator.createStream('s', PLAIN);
  await coordinator.close();
  return disk;
}

/** Changes the first block of a file and makes its checksum hold again. */
function reseal(disk: SimulatedDisk, path: string, change: (view: DataView) => void): void {
  const bytes = disk.contentOf(path);
  const view = viewOf(bytes);
  change(view);
  const end = 64 + view.getUint32(BLOCK_FIELD.payloadBytes, true);
  view.setBigUint64(0, xxh64(bytes.subarray(8, end), blockSeed(0)), true);
}

suite('manifest refusals', () => {
  before(() => loadChecksum());

  for (const path of [CURRENT_PATH, pathOf(1, 'snapshot'), pathOf(1, 'log')]) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    test(`a ${name} of a newer version is refused and left as it is`, async () => {
      const disk = await made();
      reseal(disk, path, (view) => view.setUint16(BLOCK_FIELD.version, 2, true));
      const content = disk.contentOf(path).slice();
      for (const readOnly of [false, true]) {
        await assert.rejects(openOver(disk, { readOnly }), withCode('ERR_MILLRACE_FORMAT_TOO_NEW'));
      }
      assert.deepEqual(disk.contentOf(path), content);
    });

    test(`a ${name} of another store is refused`, async () => {
      const disk = await made();
      reseal(disk, path, (view) => view.setUint8(BLOCK_FIELD.storeId, 99));
      await assert.rejects(openOver(disk), withCode('ERR_MILLRACE_FOREIGN_FILE'));
    });

    test(`a ${name} with an unknown flag is not read`, async () => {
      const disk = await made();
      reseal(disk, path, (view) => view.setUint32(BLOCK_FIELD.flags, 6, true));
      await assert.rejects(openOver(disk), withCode('ERR_MILLRACE_MANIFEST_CORRUPT'));
    });
  }

  test("another store's directory is refused as a whole", async () => {
    const storeId = new Uint8Array(16).fill(0xee);
    await assert.rejects(openOver(await made(), { storeId }), withCode('ERR_MILLRACE_FOREIGN_FILE'));
  });

  test('a claimed payload of gigabytes is no reason to allocate them', async () => {
    const disk = await made();
    viewOf(disk.contentOf(pathOf(1, 'snapshot'))).setUint32(BLOCK_FIELD.payloadBytes, 0xffff_fff0, true);
    await assert.rejects(openOver(disk), withCode('ERR_MILLRACE_MANIFEST_CORRUPT'));
  });

  test('sound blocks whose events contradict the state are damage, not a crash', async () => {
    const disk = await made();
    const log = disk.contentOf(pathOf(1, 'log'));
    const view = viewOf(log);
    const start = 72;
    // The stream that the block creates gets an id that does not come next.
    const payload = start + 64;
    const tag = log.indexOf(1, payload + 1);
    log[tag + 1] = 9;
    const end = payload + view.getUint32(start + BLOCK_FIELD.payloadBytes, true);
    view.setBigUint64(start, xxh64(log.subarray(start + 8, end), blockSeed(start)), true);
    await assert.rejects(openOver(disk), withCode('ERR_MILLRACE_MANIFEST_CORRUPT'));
  });
});
