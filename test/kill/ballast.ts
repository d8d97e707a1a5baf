/** Fills a file system to its last block. */
import { closeSync, openSync, writeSync } from 'node:fs';

/** Writes to the file until nothing fits any more; called again, it takes what became free meanwhile. */
export function fillUp(ballast: string): void {
  const file = openSync(ballast, 'a');
  try {
    for (const bytes of [1024 * 1024, 4096]) {
      while (writes(file, Buffer.alloc(bytes)));
    }
  } finally {
    closeSync(file);
  }
}

function writes(file: number, bytes: Buffer): boolean {
  try {
    return writeSync(file, bytes) === bytes.length;
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOSPC') return false;
    throw error;
  }
}
