/** Backups of a process that is killed in the midst of one: what the target holds then. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BackupTarget, backups, restore, verifyBackup } from '../../src/index.ts';
import type { SeededRandom } from '../../src/base/random.ts';
import { numbered, type StoreFolder, texts } from '../support/test-store.ts';

const WRITER: string = join(import.meta.dirname, 'writer-process.js');
/** Milliseconds after the start of a backup. */
const WAIT_MAX = 60;

/** Where backups go: as the killed process is told, and as one looks at them. */
export interface KillTarget {
  readonly argument: string;
  readonly target: BackupTarget;
}

/** Lets the writer make some backups, then kills it in the midst of one. Returns what it said of each. */
async function runUntilKilled(dir: string, target: string, random: SeededRandom): Promise<Map<number, number>> {
  const child = spawn(process.execPath, [WRITER, dir, target], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = new Promise((resolve) => child.once('close', resolve));
  const done = new Map<number, number>();
  const startsWanted = 2 + random.below(4);
  let starts = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [what, ...numbers] = line.split(' ');
    if (what === 'done') done.set(Number(numbers[0]), Number(numbers[1]));
    else starts += 1;
    if (starts !== startsWanted || what !== 'start') continue;
    await sleep(random.below(WAIT_MAX));
    child.kill('SIGKILL');
  }
  await closed;
  return done;
}

/** Kills the writer so many times, and after each checks every backup, and what the latest restores to. */
export async function killAndCheck(
  folder: StoreFolder,
  { argument, target }: KillTarget,
  kills: number,
  random: SeededRandom,
): Promise<void> {
  const acknowledged = new Map<number, number>();
  for (let kill = 1; kill <= kills; kill += 1) {
    const done = await runUntilKilled(folder.dir, argument, random);
    assert.ok(done.size > 0, 'a backup was complete before the kill');
    for (const [backup, records] of done) acknowledged.set(backup, records);
    const listed = await backups(target);
    const latest = Math.max(...acknowledged.keys());
    assert.ok((listed.at(-1)?.backup ?? 0) >= latest, 'what was reported complete is there');
    for (const { backup, records } of listed) {
      assert.deepEqual((await verifyBackup(target, { backup })).problems, [], `backup ${backup}`);
      assert.ok(records >= (acknowledged.get(backup) ?? 0), `backup ${backup} has ${records} records`);
    }
    const dir = join(folder.parent, `copy-${kill}`);
    const { records } = await restore(target, dir);
    const copy = await folder.open({ dir });
    const own = await texts((await copy.stream('own')).read());
    const lane = await texts((await copy.stream('lane')).read());
    assert.deepEqual([own, lane], [numbered(own.length), numbered(lane.length)]);
    assert.equal(own.length + lane.length, records);
    await copy.close();
  }
}
