/** Where things are, whatever directory a script was started from. */
import { readdirSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** The folders that TypeScript compiles; `dist` mirrors them. */
export const SOURCE_FOLDERS = ['src', 'workers', 'wasm', 'bench', 'test', 'examples'];

/** What is installed there is nobody's source: the comparison with other engines has packages of its own. */
const INSTALLED = /(^|\/)node_modules\//;

/** Every file below `folder` of the repository, relative to the repository, with `/`, in a fixed order. */
export function filesBelow(folder) {
  let entries;
  try {
    entries = readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true });
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      relative(ROOT, join(entry.parentPath ?? entry.path, entry.name))
        .split(sep)
        .join('/'),
    )
    .filter((path) => !INSTALLED.test(path))
    .sort();
}
