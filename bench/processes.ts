/** Child processes with one job each: whatever is measured starts with a clean memory and code of its own. */
import { fork } from 'node:child_process';
import { join } from 'node:path';

/** Compiled code of the benchmarks. */
const HERE: string = import.meta.dirname;

export interface ChildOptions {
  /** The child ends itself by SIGKILL: that is what is wanted of it. */
  readonly dies?: boolean;
  /** Milliseconds after which it is killed. */
  readonly timeout: number;
  /** Kills it earlier. */
  readonly signal?: AbortSignal;
}

/**
 * Runs `entry` with a job as its argument and resolves with the last message it sent; `undefined` when it sent none.
 * Rejects when the child fails.
 */
export function runChild(
  entry: string,
  job: object,
  { dies = false, timeout, signal }: ChildOptions,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const child = fork(join(HERE, entry), [JSON.stringify(job)], {
      execArgv: ['--enable-source-maps', '--expose-gc'],
      timeout,
      killSignal: 'SIGKILL',
      ...(signal === undefined ? {} : { signal }),
    });
    let message: unknown;
    child.on('message', (received) => {
      message = received;
    });
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      if (code === 0 || (dies && signal === 'SIGKILL')) resolve(message);
      else if (signal !== null) reject(new Error(`${entry} was ended by ${signal}; its time is ${timeout} ms`));
      else reject(new Error(`${entry} ended with exit code ${code ?? 'unknown'}: see its output above`));
    });
  });
}

/** In a child: the job it was started with. */
export function jobOf<Job>(): Job {
  const [, , text] = process.argv;
  if (text === undefined) throw new Error('this program is started by the benchmarks, with a job');
  return JSON.parse(text) as Job;
}

/** In a child: answers and lets the process end. */
export function answer(message: object): Promise<void> {
  return new Promise((resolve, reject) => {
    if (process.send === undefined) {
      process.stdout.write(`${JSON.stringify(message)}\n`);
      resolve();
      return;
    }
    process.send(message, undefined, {}, (error) => {
      process.disconnect();
      if (error === null) resolve();
      else reject(error);
    });
  });
}
