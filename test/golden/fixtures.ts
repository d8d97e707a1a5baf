/** Where golden stores lie in the repository, and copies of them to work on. */
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The checkout: two folders above `dist/test/golden`. */
const FIXTURES: string = join(import.meta.dirname, '..', '..', '..', 'test', 'fixtures');

/** The version of the formats that this millrace writes; all files of a store have the same. */
export const WRITTEN_VERSION = 1;

/** Versions of which there are golden stores. */
export function goldenVersions(): number[] {
  return readdirSync(FIXTURES).flatMap((name) => {
    const version = /^v(\d+)$/.exec(name)?.[1];
    return version === undefined ? [] : [Number(version)];
  });
}

/** Directory of a golden store: never opened itself, for opening writes. */
export function goldenPath(name: string, version: number = WRITTEN_VERSION): string {
  return join(FIXTURES, `v${version}`, name);
}

/** Copies a golden store into `dir`. */
export function copyGolden(name: string, dir: string, version: number = WRITTEN_VERSION): void {
  cpSync(goldenPath(name, version), dir, { recursive: true });
}

/** Path of what the store held when it was made. */
export function goldenContentPath(name: string, version: number = WRITTEN_VERSION): string {
  return `${goldenPath(name, version)}.json`;
}

export function goldenContent(name: string, version: number = WRITTEN_VERSION): unknown {
  return JSON.parse(readFileSync(goldenContentPath(name, version), 'utf8'));
}

/** Every file below a directory, relative to it, with `/`. */
export function filesBelow(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true })
    .flatMap((entry) =>
      entry.isDirectory() ? filesBelow(join(dir, entry.name)).map((name) => `${entry.name}/${name}`) : [entry.name],
    )
    .sort();
}

/** A file's bytes in memory of their own. */
export function readBytes(path: string): Uint8Array {
  return new Uint8Array(readFileSync(path));
}
