/** Throw-away directories for tests. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TemporaryDirectory {
  readonly path: string;
  remove(): void;
}

export function temporaryDirectory(): TemporaryDirectory {
  const path = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
