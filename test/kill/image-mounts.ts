/** Whether file systems in image files can be mounted here. */
import { spawnSync } from 'node:child_process';
import { hasProgram } from '../support/child-processes.ts';

export type FileSystemName = 'ext4' | 'xfs';

const MOUNT_ATTEMPT = 'mount -t tmpfs none /mnt';

/** Why not; `undefined` when they can. */
export function whyNoImageMounts(name: FileSystemName): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may mount an image';
  const missing = ['cc', `mkfs.${name}`, 'mount', 'umount', 'losetup'].find((program) => !hasProgram(program));
  if (missing !== undefined) return `there is no ${missing}`;
  if (spawnSync('losetup', ['-f']).status !== 0) return 'there are no loop devices';
  const { status } = spawnSync('unshare', ['-m', 'sh', '-c', MOUNT_ATTEMPT]);
  return status === 0 ? undefined : 'nothing may be mounted here, not even by root';
}
