/** A restore whose process is killed between any two of its calls to the file system. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { open, restore } from '../../src/index.ts';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { MAIN } from '../cli/cli-process.ts';
import { Faults, whyNoShim } from '../support/fault-shim.ts';
import { numbered, StoreFolder, texts } from '../support/test-store.ts';

const WAL = { slots: 2, slotBytes: 1024 * 1024 };
const SEGMENTS = 4;
/** How many of the steps are tried, spread over all of them, and the last one. */
const KILLS = 4;

const NO_STORE: ReadonlySet<string> = new Set(['ERR_MILLRACE_STORE_NOT_FOUND', 'ERR_MILLRACE_DIRECTORY_UNUSABLE']);

const skip = whyNoShim() ?? false;

test('a restore that is killed leaves no store, or a whole one, and can be run again', { skip }, async (t) => {
  const folder = new StoreFolder(t);
  const [target, dir] = [join(folder.parent, 'backup'), join(folder.parent, 'copy')];
  const store = await folder.open({ wal: WAL });
  const stream = await store.stream('s');
  for (let round = 0; round < SEGMENTS; round += 1) {
    await stream.append(`record ${round}`);
    await store.flush();
  }
  await store.backup(target);
  const faults = new Faults(dir, folder.parent);
  const restoreIn = async (): Promise<unknown[]> => {
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir);
    const env = { ...process.env, ...faults.environment };
    return once(spawn(process.execPath, [MAIN, 'restore', target, dir], { env, stdio: 'ignore' }), 'close');
  };

  faults.arm();
  assert.deepEqual(await restoreIn(), [0, null]);
  // Rules hold below the directory.
  const steps = faults.calls().filter(({ path }) => path.includes('/')).length;
  assert.ok(steps > 4 * SEGMENTS, `${steps} steps`);
  const moments = Array.from({ length: KILLS }, (_, index) => 1 + Math.floor((index * steps) / KILLS));
  for (const step of [...moments, steps]) {
    faults.arm({ operation: 'any', path: '/', first: step, action: 'kill' });
    assert.deepEqual(await restoreIn(), [null, 'SIGKILL'], `step ${step}`);
    const refusal = await open({ dir, readOnly: true }).then(
      (found) => found.close(),
      (error: unknown) => error,
    );
    const isNoStore = isMillraceError(refusal) && NO_STORE.has(refusal.code);
    // Behind its last step but one the store is whole.
    assert.ok(isNoStore || (refusal === undefined && step === steps), `step ${step} of ${steps}: ${String(refusal)}`);
    if (isNoStore) await restore(target, dir);
    const copy = await folder.open({ dir, wal: WAL });
    assert.deepEqual(await texts((await copy.stream('s')).read()), numbered(SEGMENTS), `step ${step}`);
    assert.deepEqual((await copy.verify()).problems, []);
    await copy.close();
  }
});
