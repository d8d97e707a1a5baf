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
import { Faults, type FaultRule, whyNoShim } from '../support/fault-shim.ts';
import type { Task } from './child.ts';
import type { CuttableDisk } from './cuttable-disk.ts';
import type { Content, Expectation } from './expectation.ts';
import { monotonicNow, REPORT_DESCRIPTOR, ReportReader, type TimedReport } from './reports.ts';

const CHILD: string = join(import.meta.dirname, 'child.js');
const STREAMS: readonly string[] = Array.from({ length: 12 }, (_, index) => `stream-${index}`);
/** The longest that a process works before it is killed, in milliseconds. */
const WORK_MAX = 250;
/** File operations that a process may get through before it is killed at one. */
const OPERATIONS_MAX = 400;
const GEOMETRIES: readonly WalOptions[] = [
  { slots: 2, slotBytes: 64 * 1024 },
  { slots: 3, slotBytes: 64 * 1024 },
  { slots: 4, slotBytes: 256 * 1024 },
];

/** When a process is killed. */
type Moment = { readonly rule: FaultRule } | TimedMoment;

interface TimedMoment {
  /** Counted from the opening of the store, or from the start of the process. */
  readonly afterOpen: boolean;
  readonly milliseconds: number;
}

export interface RoundOptions {
  /** Where the store is; made by the first round. */
  readonly dir: string;
  /** A directory beside it, for copies and rules. */
  readonly scratch: string;
  readonly random: Random;
  readonly expectation: Expectation;
  /** The disk that the store is on: then its power is cut, and the process killed after that. */
  readonly disk?: CuttableDisk;
}

/** Throws an assertion error when the store is not what it has to be. */
export async function killRound(options: RoundOptions): Promise<void> {
  const { dir, scratch, random, expectation } = options;
  // Now and then the next process wants another ring.
  const wal = { ...(random.below(5) === 0 ? GEOMETRIES[random.below(GEOMETRIES.length)] : {}), flushInterval: 20 };
  const { disk } = options;
  await workUntilKilled(options, wal, disk === undefined ? momentOf(random) : timedMoment(random));
  disk?.unmount();
  disk?.mount();
  const copy = join(scratch, 'copy');
  // The first process may have been killed before it made anything.
  const copied = random.below(3) === 0 && existsSync(dir);
  if (copied) cpSync(dir, copy, { recursive: true });
  const found = await checkStore(dir, expectation);
  if (!copied) return;
  const again = await checkStore(copy, expectation);
  assert.deepEqual(again, found, 'recovering twice gives the same');
  rmSync(copy, { recursive: true });
}

function momentOf(random: Random): Moment {
  if (whyNoShim() === undefined && random.below(2) === 0) {
    const operation = (['write', 'sync', 'rename', 'open'] as const)[random.below(4)] ?? 'write';
    const first = 1 + random.below(operation === 'write' ? OPERATIONS_MAX : OPERATIONS_MAX / 10);
    return { rule: { operation, path: '/', first, action: random.below(2) === 0 ? 'kill' : 'kill-after' } };
  }
  return timedMoment(random);
}

function timedMoment(random: Random): TimedMoment {
  return { afterOpen: random.below(5) > 0, milliseconds: random.below(WORK_MAX) };
}

function workUntilKilled(options: RoundOptions, wal: WalOptions, moment: Moment): Promise<void> {
  const { dir, scratch, random, expectation } = options;
  const publishFrom = expectation.publishFrom();
  const task: Task = { dir, seed: random.uint32(), wal, streams: STREAMS, publishFrom };
  const faults = 'rule' in moment ? new Faults(dir, scratch) : undefined;
  if (faults !== undefined && 'rule' in moment) faults.arm(moment.rule);
  const child = spawn(process.execPath, ['--enable-source-maps', CHILD, JSON.stringify(task)], {
    stdio: ['ignore', 'inherit', options.disk === undefined ? 'inherit' : 'ignore', 'pipe'],
    env: { ...process.env, ...faults?.environment, MILLRACE_FAULT_LOG: '' },
  });
  let killedAt: number | undefined;
  const kill = (): void => {
    killedAt = options.disk?.cut() ?? monotonicNow();
    child.kill('SIGKILL');
  };
  // A rule may name an operation that never comes.
  let timer = setTimeout(kill, 'rule' in moment ? 20 * WORK_MAX : 40 * WORK_MAX);
  const wait = (milliseconds: number): void => {
    clearTimeout(timer);
    timer = setTimeout(kill, milliseconds);
  };
  if ('milliseconds' in moment && !moment.afterOpen) wait(moment.milliseconds);
  const reader = new ReportReader();
  const reports: TimedReport[] = [];
  const pipe = child.stdio[REPORT_DESCRIPTOR] as Readable;
  pipe.setEncoding('utf8').on('data', (text: string) => {
    for (const report of reader.push(text)) {
      if (report.type === 'open' && killedAt === undefined)
        wait('milliseconds' in moment ? moment.milliseconds : 4 * WORK_MAX);
      reports.push(report);
    }
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    // `close` comes after the last report was read: what was on its way at the kill counts.
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      // Of a kill everything counts; of a power cut what was told before it.
      const end = options.disk === undefined ? Infinity : (killedAt ?? 0);
      for (const report of reports) if (report.at < end) expectation.add(report);
      // Between a power cut and the kill the process may have met the dead disk, and ended by itself.
      if (killedAt !== undefined || signal === 'SIGKILL') resolve();
      else reject(new Error(`the process ended by itself with ${code ?? signal ?? 'nothing'}`));
    });
  });
}

/** Opens the store, holds everything in it against the expectation, and closes it. */
async function checkStore(dir: string, expectation: Expectation): Promise<Map<string, Content>> {
  const store = await open({ dir, wal: {} });
  try {
    const found = new Map<string, Content>();
    for (const name of STREAMS) found.set(name, await expectation.check(store, name));
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
