import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { replaceFile, replaceFileSync, readFileAtSync, writeWhole } from '../../src/base/whole-file.ts';
import { survivingPages } from '../../src/testing/disk/power-loss.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { systemError } from '../../src/testing/disk/calls.ts';
import { RecordingFileSystem } from '../support/recording-file-system.ts';

const PATH = '/folder/file';
const BEFORE = Buffer.from('what was there before');
const AFTER = Buffer.from('what replaces it');

function diskWith(content: Uint8Array): SimulatedDisk {
  const disk = new SimulatedDisk({ directories: ['/folder'] });
  disk.put(PATH, content);
  return disk;
}

function contentOf(disk: SimulatedDisk): string {
  const bytes = Buffer.alloc(disk.statSync(PATH)?.size ?? 0);
  readFileAtSync(disk, PATH, bytes);
  return bytes.toString();
}

suite('whole files', () => {
  const losses: [string, () => boolean][] = [
    ['nothing unsynced', () => false],
    ['everything', () => true],
  ];
  for (const [kept, keep] of losses) {
    test(`a power loss at any step, which keeps ${kept}, leaves the old content or the new one`, () => {
      const found = new Set<string>();
      let finished = false;
      for (let step = 1; !finished; step += 1) {
        const disk = diskWith(BEFORE);
        let steps = 0;
        disk.onStep = () => {
          steps += 1;
          if (steps < step) return;
          disk.losePower({ ...survivingPages(keep), name: keep, size: (_path, old, size) => (keep() ? size : old) });
          throw systemError('EIO');
        };
        try {
          replaceFileSync(disk, PATH, AFTER);
          finished = true;
        } catch (error) {
          assert.equal((error as NodeJS.ErrnoException).code, 'EIO', String(error));
        }
        disk.onStep = undefined;
        const content = contentOf(disk);
        assert.ok(
          [BEFORE, AFTER].some((whole) => whole.toString() === content),
          `step ${step}: ${content}`,
        );
        found.add(content);
      }
      assert.deepEqual([...found], [BEFORE.toString(), AFTER.toString()]);
    });
  }

  test('a short write fails as a full disk, and the old content stays', async () => {
    const disk = diskWith(BEFORE);
    const failing = new RecordingFileSystem(disk);
    failing.on('write', () => 3);
    const full = { code: 'ERR_MILLRACE_DISK_FULL' };
    assert.throws(() => {
      replaceFileSync(failing, PATH, AFTER);
    }, full);
    await assert.rejects(
      replaceFile(failing, PATH, (handle) => writeWhole(handle, AFTER, 0)),
      full,
    );
    assert.equal(contentOf(disk), BEFORE.toString());
    assert.equal(failing.openHandles, 0);
  });

  test('what a crash left under the temporary name is in nobody’s way', async () => {
    const disk = diskWith(BEFORE);
    disk.put(`${PATH}.tmp`, Buffer.from('half of an earlier attempt'));
    await replaceFile(disk, PATH, (handle) => writeWhole(handle, AFTER, 0));
    assert.equal(contentOf(disk), AFTER.toString());
    assert.deepEqual(disk.listSync('/folder'), ['file']);
  });
});
