/**
 * A server as a child process: on loopback, on ports that nobody uses, with everything it writes below the directory of
 * its peer. It is ended by its process id.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, closeSync, openSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { peakBytes, processorSeconds, startTime } from './usage.ts';

export const LOOPBACK = '127.0.0.1';
/** Of every server that was started for the directory: process id and start time, so that none outlives its run. */
const NOTE = 'servers.started';
const READY_TIMEOUT = 60_000;
const STOP_TIMEOUT = 30_000;
const POLL = 5;

export interface ServerStart {
  readonly dir: string;
  readonly path: string;
  readonly args: readonly string[];
  /** The whole environment of the server. Default: this process's. */
  readonly environment?: NodeJS.ProcessEnv;
}

export class Server {
  /** Resolves when it has ended, for whatever reason. */
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;
  readonly #log: string;
  #ended = false;

  /** Starts the program; `ready` says when it answers. */
  constructor({ dir, path, args, environment }: ServerStart) {
    this.#log = join(dir, 'server.log');
    const log = openSync(this.#log, 'a');
    this.#child = spawn(path, args, { cwd: dir, env: environment, stdio: ['ignore', log, log] });
    closeSync(log);
    const { pid } = this.#child;
    if (pid !== undefined) appendFileSync(join(dir, NOTE), `${pid} ${startTime(pid) ?? 0}\n`);
    this.exited = new Promise((resolve) => {
      const end = (): void => {
        this.#ended = true;
        resolve();
      };
      this.#child.once('exit', end).once('error', end);
    });
  }

  /** Resolves when `attempt` does; it is made again and again while the server starts. */
  async ready<Result>(attempt: () => Promise<Result>): Promise<Result> {
    for (const begun = performance.now(); ;) {
      try {
        return await attempt();
      } catch (error) {
        const late = performance.now() - begun > READY_TIMEOUT;
        if (this.#ended || late) {
          await this.stop();
          const state = late ? 'does not answer' : 'ended by itself';
          throw new Error(`the server ${state}: ${String(error)}\n${lastLines(this.#log)}`, { cause: error });
        }
      }
      await sleep(POLL);
    }
  }

  /** Processor time so far, with that of its own child processes; `NaN` where the system does not tell. */
  processorSeconds(): number {
    return processorSeconds(this.#child.pid!);
  }

  /** The most memory it had at once; `NaN` where the system does not tell. */
  peakBytes(): number {
    return peakBytes(this.#child.pid!);
  }

  /** Asks it to end, and waits until it has. */
  async stop(): Promise<void> {
    if (!this.#ended) this.#child.kill('SIGTERM');
    const patience = new AbortController();
    await Promise.race([
      this.exited,
      sleep(STOP_TIMEOUT, undefined, { signal: patience.signal }).catch(() => undefined),
    ]);
    patience.abort();
    if (!this.#ended) await this.kill();
  }

  /** As a crash of its process would end it. */
  async kill(): Promise<void> {
    if (!this.#ended) this.#child.kill('SIGKILL');
    await this.exited;
  }
}

/** Resolves when something listens there. */
export function accepts(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, LOOPBACK, () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}

/** Ports of loopback that nobody listens on. They are different from each other. */
export async function freePorts(count: number): Promise<number[]> {
  const listeners = await Promise.all(
    Array.from({ length: count }, async () => {
      const listener = createServer();
      await new Promise<void>((resolve, reject) => {
        listener.once('error', reject).listen(0, LOOPBACK, resolve);
      });
      return listener;
    }),
  );
  return Promise.all(
    listeners.map(async (listener) => {
      const address = listener.address();
      await new Promise((resolve) => listener.close(resolve));
      if (address === null || typeof address === 'string') throw new Error('a listener on loopback has no port');
      return address.port;
    }),
  );
}

/** Ends what was started for the directory and still runs, because the process that started it was killed. */
export function endLeftServers(dir: string): void {
  for (const line of readNote(dir)) {
    const [pid = 0, started = 0] = line.split(' ').map(Number);
    // The start time tells whether the number belongs to another process by now.
    if (started > 0 && startTime(pid) === started) process.kill(pid, 'SIGKILL');
  }
}

function readNote(dir: string): string[] {
  try {
    return readFileSync(join(dir, NOTE), 'utf8').trimEnd().split('\n');
  } catch {
    return [];
  }
}

function lastLines(path: string): string {
  return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-8).join('\n');
}
