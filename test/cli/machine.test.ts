import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { mountOf } from '../../src/cli/machine.ts';

const MOUNTS = [
  'disk-a / ext4 rw 0 0',
  'memory /run tmpfs rw 0 0',
  'disk-b /run/data xfs rw,noatime 0 0',
  'disk-c /with\\040space btrfs rw 0 0',
  'first /twice ext4 rw 0 0',
  'second /twice tmpfs rw 0 0',
].join('\n');

suite('the file system of a directory', () => {
  test('is that of the longest mount above it', () => {
    assert.equal(mountOf(MOUNTS, '/var/lib').device, 'disk-a');
    assert.equal(mountOf(MOUNTS, '/run').kind, 'tmpfs');
    assert.deepEqual(mountOf(MOUNTS, '/run/data/store'), { kind: 'xfs', device: 'disk-b', options: 'rw,noatime' });
  });

  test('is not that of a mount whose name only begins like it', () => {
    assert.equal(mountOf(MOUNTS, '/run/database').kind, 'tmpfs');
    assert.equal(mountOf(MOUNTS, '/runner').kind, 'ext4');
  });

  test('is found behind escaped names, and of two mounts in one place the later one counts', () => {
    assert.equal(mountOf(MOUNTS, '/with space/store').kind, 'btrfs');
    assert.equal(mountOf(MOUNTS, '/twice/store').device, 'second');
  });

  test('is unknown where no mount is listed', () => {
    assert.equal(mountOf('', '/').kind, 'unknown');
  });
});
