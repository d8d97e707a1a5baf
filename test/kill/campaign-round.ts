/**
 * One round of a campaign: a process works on a store, is killed, and the store is held against what was acknowledged.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Random } from '../../src/base/random.ts';
import { open, type WalOptions } from '../../src/index.ts';
import type { Task } from './child.ts';
import type { CuttableDisk } from './cuttable-disk.ts';
import type { Content, Expectation } from './expectation.ts';
import { contentsOf } from './reading.ts';
import type { OperationCounts } from '../support/fault-shim.ts';
import { isTimed, type Moment, prepareKill, type Weapon, WORK_MAX } from './moment.ts';
import { ReaderBeside } from './reader-beside.ts';
import { isIntention, monotonicNow, REPORT_DESCRIPTOR, ReportReader, type TimedReport } from './reports.ts';
import { openOptions, workloadNamed } from './workloads.ts';

/** `child.ts` in one file: to load it takes half of the time that a process has. */
const CHILD: string = join(import.meta.dirname, '..', '..', 'programs', 'kill', 'child.js');
const GEOMETRIES: readonly WalOptions[] = [
  { slots: 2, slotBytes: 64 * 1024 },
  { slots: 3, slotBytes: 64 * 1024 },
  { slots: 4, slotBytes: 256 * 1024 },
];

export interface RoundOptions {
  /** Where the store is; made by the first round. */
  readonly dir: string;
  /** A directory beside it, for copies and rules. */
  readonly scratch: string;
  readonly random: Random;
  /** Name of the workload. */
  readonly workload: string;
  readonly moment: Moment;
  readonly weapon: Weapon;
  readonly expectation: Expectation;
  /** The disk that the store is on: then its power is cut, and the process killed after that. */
  readonly disk?: CuttableDisk;
}

/** How long a process may take until its store is open, in milliseconds: only a hang takes longer. */
const PATIENCE = 120_000;

/** How the process ended. */
export interface Death {
  /** At its operation, or by the clock because its moment was a time, or never came. */
  readonly by: 'operation' | 'time';
  /** What it did until then, where that is counted. */
  readonly counts: OperationCounts | undefined;
}

/** Throws an assertion error when the store is not what it has to be. */
export async function killRound(options: RoundOptions): Promise<Death> {
  const { dir, scratch, random, expectation, disk } = options;
  const workload = workloadNamed(options.workload);
  const reader = workload.reader === true && disk === undefined ? ReaderBeside.start(dir) : undefined;
  const death = await workUntilKilled(options);
  await reader?.stop();
  disk?.unmount();
  disk?.mount();
  const copy = join(scratch, 'copy');
  // The first process may have been killed before it made anything.
  const copied = random.below(3) === 0 && existsSync(dir);
  if (copied) cpSync(dir, copy, { recursive: true });
  const found = await checkStore(options.workload, dir, expectation);
  reader?.check(found);
  if (!copied) return death;
  const isRetained = workload.retention !== undefined;
  // What retention takes from the copy is still there in the store.
  const again = await checkStore(options.workload, copy, isRetained ? undefined : expectation);
  if (isRetained) checkRetained(again, found);
  else assert.deepEqual(again, found, 'recovering twice gives the same');
  rmSync(copy, { recursive: true });
  return death;
}

/** What recovery left in the ring is flushed while a store is checked, and retention goes on, not always as fast. */
function checkRetained(again: ReadonlyMap<string, Content>, found: ReadonlyMap<string, Content>): void {
  for (const [name, before] of found) {
    const after = again.get(name) ?? [];
    const first = Math.max(before[0]?.offset ?? Infinity, after[0]?.offset ?? Infinity);
    const kept = (content: Content): Content => content.filter(({ offset }) => offset >= first);
    assert.deepEqual(kept(after), kept(before), `${name}: recovering twice gives the same from offset ${first} on`);
  }
}

/** Now and then the next process wants another ring. */
function walOptions({ random, workload }: RoundOptions): WalOptions {
  const another = random.below(workloadNamed(workload).births === true ? 2 : 5) === 0;
  return { ...(another ? GEOMETRIES[random.below(GEOMETRIES.length)] : {}), flushInterval: 20 };
}

function workUntilKilled(options: RoundOptions): Promise<Death> {
  const { dir, scratch, random, expectation, workload, moment, disk } = options;
  const publishFrom = expectation.publishFrom();
  const task: Task = { dir, workload, seed: random.uint32(), wal: walOptions(options), publishFrom };
  const { wrapper, environment, counts } = prepareKill(moment, options.weapon, dir, scratch);
  const [program, ...args] = [...wrapper, process.execPath, CHILD, JSON.stringify(task)];
  const child = spawn(program, args, {
    // Before it is killed, a process whose disk is gone may complain about that: shown only if it ends by itself.
    stdio: ['ignore', 'inherit', disk === undefined ? 'inherit' : 'pipe', 'pipe'],
    env: { ...process.env, ...environment },
    // In a group of its own: a tracer that is killed alone lets go of the process it traces.
    detached: true,
  });
  let killedAt: number | undefined;
  const kill = (): void => {
    killedAt = disk?.cut() ?? monotonicNow();
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  };
  const longest = workloadNamed(workload).work ?? WORK_MAX;
  let timer = setTimeout(kill, PATIENCE);
  let ended = false;
  const wait = (milliseconds: number): void => {
    clearTimeout(timer);
    if (!ended) timer = setTimeout(kill, milliseconds);
  };
  // Its last reports may take a while to arrive: by then there is nobody left to kill.
  child.once('exit', () => {
    ended = true;
    clearTimeout(timer);
  });
  if (isTimed(moment) && !moment.afterOpen) wait(moment.milliseconds);
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const reader = new ReportReader();
  const reports: TimedReport[] = [];
  const pipe = child.stdio[REPORT_DESCRIPTOR] as Readable;
  pipe.setEncoding('utf8').on('data', (text: string) => {
    for (const report of reader.push(text)) {
      if (report.type === 'open' && killedAt === undefined) {
        // A rule may name an operation that never comes.
        wait(isTimed(moment) ? moment.milliseconds : 4 * longest);
      }
      reports.push(report);
    }
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    // `close` comes after the last report was read: what was on its way at the kill counts.
    child.once('close', (code, signal) => {
      const died = killedAt === undefined && signal === 'SIGKILL';
      if (died) killedAt = disk?.cut();
      // Of a kill everything counts; of a power cut what was told before it, and whatever was asked for.
      const end = disk === undefined ? Infinity : (killedAt ?? 0);
      for (const report of reports) if (report.at < end || isIntention(report)) expectation.add(report);
      // Between a power cut and the kill the process may have met the dead disk, and ended by itself.
      if (killedAt !== undefined || died) resolve({ by: died ? 'operation' : 'time', counts: counts?.() });
      else reject(new Error(`the process ended by itself with ${code ?? signal ?? 'nothing'}\n${complaint}`));
    });
  });
}

/** Opens the store, holds everything in it against the expectation, if there is one, and closes it. */
export async function checkStore(
  workload: string,
  dir: string,
  expectation: Expectation | undefined,
): Promise<Map<string, Content>> {
  const store = await open(openOptions(workloadNamed(workload), { dir, wal: {} }));
  try {
    const found = await (expectation?.check(store) ?? contentsOf(store));
    await store.flush();
    assert.deepEqual((await store.verify()).problems, []);
    const files = readdirSync(dir, { recursive: true, encoding: 'utf8' });
    assert.deepEqual(
      files.filter((name) => /\.tmp$|^wal\..*/.test(name)),
      [],
      'nothing unfinished is left',
    );
    return found;
  } finally {
    await store.close();
  }
}
