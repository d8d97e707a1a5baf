import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { PAGE_BYTES } from '../../src/base/bytes.ts';
import type { FileHandle } from '../../src/base/file-system.ts';
import { isSystemError } from '../../src/base/node-file-system.ts';
import { SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { randomSurvival, type Survival, survivingPages } from '../../src/testing/disk/power-loss.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';

const NOTHING: Survival = { page: () => 0, size: (_path, durable) => durable, name: () => false };
const EVERYTHING = survivingPages(() => true);

function write(file: FileHandle, text: string, position = 0): number {
  const bytes = Buffer.from(text);
  return file.writeSync(bytes, 0, bytes.length, position);
}

function textOf(disk: SimulatedDisk, path: string): string {
  const file = disk.openSync(path, { access: 'read' });
  const bytes = new Uint8Array(file.sizeSync());
  file.readSync(bytes, 0, bytes.length, 0);
  file.closeSync();
  return Buffer.from(bytes).toString();
}

/** `/d/f`, durable, with `text` in it. */
function diskWith(text: string): { disk: SimulatedDisk; file: FileHandle } {
  const disk = new SimulatedDisk({ directories: ['/d'] });
  const file = disk.openSync('/d/f', { access: 'create' });
  write(file, text);
  file.syncSync();
  disk.syncDirectorySync('/d');
  return { disk, file };
}

const after = (disk: SimulatedDisk, survival: Survival): SimulatedDisk =>
  SimulatedDisk.afterPowerLoss(disk.snapshot(), survival);

describe('a power loss on a simulated disk', () => {
  it('keeps what was synced, and of the rest what the loss chooses', () => {
    const { disk, file } = diskWith('one');
    write(file, 'two');
    assert.equal(textOf(disk, '/d/f'), 'two');
    assert.equal(textOf(after(disk, NOTHING), '/d/f'), 'one');
    assert.equal(textOf(after(disk, EVERYTHING), '/d/f'), 'two');
    file.syncSync();
    assert.equal(textOf(after(disk, NOTHING), '/d/f'), 'two');
  });

  it('keeps a synchronous write, and tears it while it is under way', () => {
    const { disk } = diskWith('a'.repeat(2 * PAGE_BYTES));
    const file = disk.openSync('/d/f', { access: 'write', dataSync: true });
    const seen: string[] = [];
    disk.onStep = ({ operation }) => {
      const torn = after(disk, { ...EVERYTHING, page: (_path, page) => (page === 1 ? [1, 1, 0, 0, 0, 0, 0, 1] : 0) });
      const text = textOf(torn, '/d/f');
      seen.push(
        `${operation} ${[0, PAGE_BYTES, PAGE_BYTES + 1_024, 2 * PAGE_BYTES - 1].map((at) => text[at]).join('')}`,
      );
    };
    write(file, 'b'.repeat(2 * PAGE_BYTES));
    assert.deepEqual(seen, ['write abab', 'sync bbbb']);
  });

  it('may leave any image of a page that was written several times', () => {
    const { disk, file } = diskWith('0');
    for (const text of ['1', '2', '3']) write(file, text);
    const images = [0, 1, 2, 3].map((image) => textOf(after(disk, { ...EVERYTHING, page: () => image }), '/d/f'));
    assert.deepEqual(images, ['0', '1', '2', '3']);
  });

  it('loses a creation, a rename and a removal whose directory was not synced', () => {
    const { disk } = diskWith('old');
    const made = disk.openSync('/d/new', { access: 'create' });
    write(made, 'new');
    made.syncSync();
    assert.deepEqual(after(disk, NOTHING).listSync('/d'), ['f']);
    disk.syncDirectorySync('/d');
    disk.renameSync('/d/new', '/d/f');
    const kept = after(disk, NOTHING);
    assert.deepEqual(kept.listSync('/d').sort(), ['f', 'new']);
    assert.equal(textOf(kept, '/d/f'), 'old');
    assert.deepEqual(after(disk, EVERYTHING).listSync('/d'), ['f']);
    disk.syncDirectorySync('/d');
    assert.equal(textOf(after(disk, NOTHING), '/d/f'), 'new');
    disk.removeSync('/d/f');
    assert.deepEqual(after(disk, NOTHING).listSync('/d'), ['f']);
    assert.deepEqual(after(disk, EVERYTHING).listSync('/d'), []);
  });

  it('keeps a name and loses what was written under it', () => {
    const disk = new SimulatedDisk({ directories: ['/d'] });
    write(disk.openSync('/d/f', { access: 'create' }), 'text');
    disk.syncDirectorySync('/d');
    assert.equal(textOf(after(disk, NOTHING), '/d/f'), '');
    assert.equal(textOf(after(disk, { ...EVERYTHING, page: () => 0 }), '/d/f'), '\0\0\0\0');
  });

  it('takes nothing from a snapshot that the disk went on after', () => {
    const { disk, file } = diskWith('one');
    write(file, 'two');
    const snapshot = disk.snapshot();
    write(file, 'six');
    file.syncSync();
    disk.removeSync('/d/f');
    disk.syncDirectorySync('/d');
    assert.equal(textOf(SimulatedDisk.afterPowerLoss(snapshot, EVERYTHING), '/d/f'), 'two');
    assert.equal(textOf(SimulatedDisk.afterPowerLoss(snapshot, NOTHING), '/d/f'), 'one');
  });
});

describe('faults of a simulated disk', () => {
  it('drop what a failed sync should have kept, and no later sync brings it there', () => {
    const { disk, file } = diskWith('one');
    write(file, 'two');
    disk.onCall = ({ operation }) => (operation === 'sync' ? { error: 'EIO' } : undefined);
    assert.throws(() => file.syncSync(), { code: 'EIO' });
    disk.onCall = undefined;
    file.syncSync();
    assert.equal(textOf(disk, '/d/f'), 'two', 'the page cache still has it');
    assert.equal(textOf(after(disk, EVERYTHING), '/d/f'), 'one');
    write(file, 'two');
    file.syncSync();
    assert.equal(textOf(after(disk, NOTHING), '/d/f'), 'two', 'written once more, it gets there');
  });

  it('end reads and writes early without an error, and syncs without an effect', () => {
    const { disk, file } = diskWith('one');
    disk.onCall = ({ operation }) => (operation === 'sync' ? { lie: true } : { bytes: 1 });
    assert.equal(write(file, 'two'), 1);
    file.syncSync();
    assert.equal(file.readSync(new Uint8Array(3), 0, 3, 0), 1);
    disk.onCall = undefined;
    assert.equal(textOf(disk, '/d/f'), 'tne');
    assert.equal(textOf(after(disk, NOTHING), '/d/f'), 'one');
  });

  it('look like those of the system, the one without a name too', () => {
    const { disk } = diskWith('one');
    for (const code of ['EIO', 'ENOSPC', 'EDQUOT', 'EMFILE']) {
      disk.onCall = () => ({ error: code });
      assert.throws(
        () => disk.openSync('/d/f', { access: 'read' }),
        (error) => isSystemError(error, code) && 'syscall' in (error as Error),
      );
    }
  });

  it('fail everything once the disk is disconnected', () => {
    const { disk, file } = diskWith('one');
    disk.disconnect();
    assert.throws(() => file.readSync(new Uint8Array(3), 0, 3, 0), { code: 'EIO' });
    assert.throws(() => disk.listSync('/d'), { code: 'EIO' });
  });
});

describe('a simulated disk', () => {
  it('holds files as arrays of bytes hold them, whatever is written, cut and lost with everything synced', () => {
    const step = fc.oneof(
      fc.record({
        at: fc.nat(9_000),
        length: fc.integer({ min: 1, max: 5_000 }),
        fill: fc.integer({ min: 0, max: 3 }),
      }),
      fc.record({ size: fc.nat(12_000) }),
      fc.record({ lose: fc.nat() }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        let { disk, file } = diskWith('');
        let model = new Uint8Array(0);
        for (const step of steps) {
          if ('lose' in step) {
            file.syncSync();
            disk = after(disk, randomSurvival(new SeededRandom(step.lose)));
            file = disk.openSync('/d/f', { access: 'write' });
          } else {
            const size = 'size' in step ? step.size : Math.max(model.length, step.at + step.length);
            const next = new Uint8Array(size);
            next.set(model.subarray(0, size));
            if ('size' in step) file.truncateSync(size);
            else {
              const bytes = new Uint8Array(step.length).fill(step.fill);
              next.set(bytes, step.at);
              file.writeSync(bytes, 0, bytes.length, step.at);
            }
            model = next;
          }
          assert.deepEqual(disk.contentOf('/d/f'), model);
        }
      }),
    );
  });

  it('lets a file that was removed be read as long as it is open, and forgets it then', () => {
    const { disk, file } = diskWith('one');
    disk.removeSync('/d/f');
    disk.syncDirectorySync('/d');
    const bytes = new Uint8Array(3);
    assert.equal(file.readSync(bytes, 0, 3, 0), 3);
    assert.equal(Buffer.from(bytes).toString(), 'one');
    assert.equal(disk.openHandles, 1);
    file.closeSync();
    assert.equal(disk.openHandles, 0);
    assert.equal(disk.snapshot().nodes.size, 2, 'the root and the directory');
  });

  it('has a digest of names and contents, whatever became of them on the way', async () => {
    await loadChecksum();
    const content = 'x'.repeat(PAGE_BYTES + 1);
    const { disk, file } = diskWith(content);
    const digest = disk.digest();
    assert.equal(diskWith(content).disk.digest(), digest);
    assert.equal(after(disk, NOTHING).digest(), digest, 'all of it is durable');
    write(file, 'y', PAGE_BYTES);
    assert.notEqual(disk.digest(), digest);
    assert.equal(after(disk, NOTHING).digest(), digest);
    write(file, 'x', PAGE_BYTES);
    assert.equal(disk.digest(), digest);
    file.truncateSync(PAGE_BYTES + 2);
    assert.notEqual(disk.digest(), digest, 'the length counts');
    const others = ['/d/g', '/e'].map((path) => {
      const other = diskWith(content).disk;
      if (path === '/e') other.makeDirectorySync(path);
      else other.renameSync('/d/f', path);
      return other.digest();
    });
    assert.equal(new Set([...others, digest]).size, 3, 'names count');
  });

  it('has the same digest for zeros that were written and for a hole', async () => {
    await loadChecksum();
    const [hole, zeros] = [diskWith('one'), diskWith('one')];
    for (const { file } of [hole, zeros]) write(file, 'end', 3 * PAGE_BYTES);
    for (const page of [1, 2]) write(zeros.file, '\0'.repeat(PAGE_BYTES), page * PAGE_BYTES);
    assert.equal(hole.disk.digest(), zeros.disk.digest());
  });
});
