/** Programs that tests start: awaited commands, and servers that never outlive the test. */
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { openSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const execFilePromise = promisify(execFile);

/** Whether a program can be found. */
export function hasProgram(name: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${name}`]).status === 0;
}

/** Runs a program to its end and returns what it printed; rejects with its error output when it fails. */
export async function run(program: string, args: readonly string[], timeout = 60_000): Promise<string> {
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { stdout } = await execFilePromise(program, args, { timeout, env: environment, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

/** Runs a program to its end, blocking, and returns what it printed; throws its error output when it fails. */
export function runSync(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? stderr}`);
  return stdout;
}

/** A server of a test. The kernel ends it with the test's process, however that ends. */
export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;

  constructor(program: string, args: readonly string[], logPath: string) {
    const log = openSync(logPath, 'a');
    const watched = hasProgram('setpriv') ? ['setpriv', '--pdeathsig', 'KILL', program] : [program];
    this.#child = spawn(watched[0] ?? program, [...watched.slice(1), ...args], { stdio: ['ignore', log, log] });
    this.#ended = new Promise((resolve) => {
      this.#child.once('exit', () => resolve());
      this.#child.once('error', () => resolve());
    });
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Ends it at once: the data of a test is thrown away. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

/** Ports that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports: number[] = [];
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ports.push((server.address() as AddressInfo).port);
  }
  for (const server of servers) await new Promise((resolve) => server.close(resolve));
  return ports;
}

/** Asks until the answer is yes; rejects when it never is: only a hang takes so long, however busy the machine is. */
export async function until(what: string, check: () => Promise<boolean>, timeout = 240_000): Promise<void> {
  const deadline = performance.now() + timeout;
  while (!(await check())) {
    if (performance.now() > deadline) throw new Error(`${what} did not happen within ${timeout} ms`);
    await sleep(10);
  }
}
