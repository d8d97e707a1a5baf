/** The version of the installed package. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** From `dist/src/base` to the root of the package. */
const MANIFEST: string = join(import.meta.dirname, '..', '..', '..', 'package.json');

export function packageVersion(): string {
  return (JSON.parse(readFileSync(MANIFEST, 'utf8')) as { version: string }).version;
}
