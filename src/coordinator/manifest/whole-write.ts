/** A write that takes everything or fails: a short count is a full disk, whether or not the system says so. */
import type { FileHandle } from '../../base/file-system.ts';
import { shortWrite } from '../../errors/write-failure.ts';

export async function writeWhole(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  const written = await handle.write(bytes, 0, bytes.length, position);
  if (written !== bytes.length) throw shortWrite(handle.path, written, bytes.length, position);
}
