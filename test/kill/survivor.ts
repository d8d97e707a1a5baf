/**
 * A process to which something happens that it has to survive: a disk that fails, a worker that ends, a thread that is
 * blocked. It works until then, tries what is left to it, closes, and tells all. Argument: a `Trial` as JSON.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { isMillraceError, open, type OpenOptions, type Store } from '../../src/index.ts';
import { type WorkerFiles, workerFiles } from '../../src/thread/worker-files.ts';
import { type Mortality, MORTALITY } from '../support/mortal.worker.ts';
import { play, type Task } from './child.ts';
import type { Content } from './expectation.ts';
import { readWhole } from './reading.ts';
import { report } from './reports.ts';
import { Sampler } from './sampler.ts';
import { valuesOf } from './values.ts';
import { openOptions, ownedNames, producedNames, sharedNames, workloadNamed } from './workloads.ts';

export interface Trial extends Task {
  readonly options?: Pick<OpenOptions, 'compaction'>;
  /** How long it works when nothing happens, in milliseconds. */
  readonly milliseconds: number;
  /** It stops working before that once this file is there. */
  readonly until?: string;
  /** Where it writes down what it can still read when all is over: name and content of each stream. */
  readonly seen: string;
  /** Tell of itself once a second. Default false. */
  readonly sampled?: boolean;
  /** For how long its thread is blocked in the middle, in milliseconds. Default not at all. */
  readonly blocked?: number;
}

/** What became of it. */
export interface Survival {
  readonly type: 'survived';
  /** Codes of the errors that its actors met, or their text where they have none. */
  readonly errors: readonly string[];
  /** How one more append ended: `appended`, or the code of its error. */
  readonly append: string;
  /** How a merge ended after all that. */
  readonly merge: string;
  /** How closing ended: `closed`, or the code of its error. */
  readonly close: string;
  /** Descriptors left behind. */
  readonly descriptors: number;
}

export function codeOf(error: unknown): string {
  return isMillraceError(error) ? error.code : `uncoded: ${error instanceof Error ? error.stack : String(error)}`;
}

async function outcome(work: Promise<unknown>, done: string): Promise<string> {
  return work.then(() => done, codeOf);
}

/** Blocks as a long computation would: no timer runs, no message arrives. */
function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

async function work(store: Store, trial: Trial): Promise<string[]> {
  const controller = new AbortController();
  const errors = new Set<string>();
  const { milliseconds, until, blocked, seed, publishFrom } = trial;
  const timers = [setTimeout(() => controller.abort(), milliseconds)];
  if (until !== undefined) {
    timers.push(setInterval(() => existsSync(until) && controller.abort(), 20));
  }
  if (blocked !== undefined) timers.push(setTimeout(block, milliseconds / 2, blocked));
  let appends = 0;
  const nextName = (): string => {
    appends += 1;
    return `${seed}.${appends}`;
  };
  const random = new SeededRandom(seed);
  const { signal } = controller;
  const cast = { store, workload: workloadNamed(trial.workload), random, publishFrom, nextName, signal };
  const endings = play(cast).map((actor) =>
    actor.catch((error: unknown) => {
      errors.add(codeOf(error));
      controller.abort();
    }),
  );
  await Promise.all(endings);
  for (const timer of timers) clearTimeout(timer);
  return [...errors];
}

async function appendOnce(store: Store, name: string, append: string): Promise<string> {
  const [value = ''] = valuesOf(append, 1);
  return outcome(
    (async () => {
      const offset = await (await store.stream(name)).append(value);
      report({ type: 'appended', stream: name, append, count: 1, offset });
    })(),
    'appended',
  );
}

async function readAll(store: Store, trial: Trial): Promise<void> {
  const workload = workloadNamed(trial.workload);
  const seen: [string, Content][] = [];
  const names = new Set((await store.streams()).map(({ name }) => name));
  for (const name of [...sharedNames(workload), ...ownedNames(workload), ...producedNames(workload)]) {
    if (!names.has(name)) continue;
    const { content } = await readWhole(await store.stream(name));
    seen.push([name, content]);
  }
  writeFileSync(trial.seen, JSON.stringify(seen));
}

/** Puts a worker that ends in the place of one that does not, where the environment says so. */
function replaceWorker(): void {
  const told = process.env[MORTALITY];
  if (told === undefined) return;
  const files: Record<keyof WorkerFiles, URL> = workerFiles;
  files[(JSON.parse(told) as Mortality).worker] = new URL('../support/mortal.worker.js', import.meta.url);
}

const descriptors = (): number => readdirSync('/proc/self/fd').length;

/** A worker that has ended needs a moment until its last descriptor is closed, a long one on a busy machine. */
async function descriptorsLeft(before: number): Promise<number> {
  for (let attempt = 0; attempt < 1_500 && descriptors() > before; attempt += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return descriptors() - before;
}

/** Run as a program, and not when its types are imported. */
if (process.argv[1] === import.meta.filename) {
  await loadChecksum();
  const trial = JSON.parse(process.argv[2] ?? '') as Trial;
  replaceWorker();
  const { dir, wal } = trial;
  // What the first worker leaves open belongs to the process, not to the store.
  const before = descriptors();
  let store: Store | undefined;
  let errors: string[] = [];
  try {
    const options = { dir, wal, compaction: { deleteGrace: 50 }, ...trial.options };
    store = await open(openOptions(workloadNamed(trial.workload), options));
  } catch (error) {
    errors = [codeOf(error)];
  }
  let left = { append: 'not open', merge: 'not open', close: 'not open' };
  if (store !== undefined) {
    report({ type: 'open' });
    const sampler = trial.sampled === true ? new Sampler(store, report) : undefined;
    errors = await work(store, trial);
    await sampler?.stop();
    const append = await appendOnce(store, 'stream-0', `${trial.seed}.last`);
    const merge = await outcome(store.compact({ force: true }), 'merged');
    await readAll(store, trial);
    left = { append, merge, close: await outcome(store.close(), 'closed') };
  }
  report({ type: 'survived', errors, ...left, descriptors: await descriptorsLeft(before) });
}
