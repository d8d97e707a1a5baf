/** How much a store's directory holds, while others work in it. */
import { type Dirent, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { SoakSample } from './result.ts';

export type DirectoryUsage = Pick<SoakSample, 'files' | 'walBytes' | 'manifestBytes' | 'objectBytes'>;

export function directoryUsage(dir: string): DirectoryUsage {
  const [wal, manifest, objects] = ['wal', 'manifest', 'objects'].map((name) => usageOf(join(dir, name)));
  return {
    files: usageOf(dir).files,
    walBytes: wal?.bytes ?? 0,
    manifestBytes: manifest?.bytes ?? 0,
    objectBytes: objects?.bytes ?? 0,
  };
}

function usageOf(dir: string): { files: number; bytes: number } {
  const usage = { files: 0, bytes: 0 };
  for (const entry of orNothing(() => readdirSync(dir, { withFileTypes: true })) ?? ([] as Dirent[])) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) {
      const { files, bytes } = usageOf(path);
      usage.files += files;
      usage.bytes += bytes;
    } else {
      usage.files += 1;
      usage.bytes += orNothing(() => statSync(path).size) ?? 0;
    }
  }
  return usage;
}

/** What is looked at may be gone by then. */
function orNothing<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined;
    throw error;
  }
}
