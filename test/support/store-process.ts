/** A store in a process of its own, told what to do: it can be killed, preloaded with faults, or have fewer rights. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { atEnd } from './at-end.ts';
import type { StoreCommands } from './store-commands.ts';

const CHILD: string = join(import.meta.dirname, 'store-child.js');

interface Answer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: { readonly code?: string; readonly message: string };
}

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** An error of a command, as far as it crosses processes. */
class RemoteError extends Error {
  readonly code: string | undefined;

  constructor(code: string | undefined, message: string) {
    super(message);
    this.code = code;
  }
}

export interface StoreProcessOptions {
  /** Added to the environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A program and its arguments that starts the rest of its command line. */
  readonly wrapper?: readonly string[];
  /** User and group to run as. */
  readonly user?: number;
}

export class StoreProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once('exit', () => {
        for (const { reject } of this.#waiting.values()) reject(new RemoteError('ENDED', 'the process has ended'));
        this.#waiting.clear();
        resolve();
      });
    });
    child.on('message', ({ id, value, error }: Answer) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(value);
      else waiting?.reject(new RemoteError(error.code, error.message));
    });
  }

  /** Starts a process, which has no store open yet. It is killed when the test ends. */
  static async start(t: TestContext, options: StoreProcessOptions = {}): Promise<StoreProcess> {
    const { wrapper = [], user, environment } = options;
    const [program, ...args] = [...wrapper, process.execPath, CHILD];
    const child = spawn(program, args, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      serialization: 'advanced',
      env: { ...process.env, ...environment },
      ...(user === undefined ? {} : { uid: user, gid: user }),
    });
    const started = new StoreProcess(child);
    atEnd(t, () => started.kill());
    await new Promise((resolve, reject) => {
      started.#waiting.set(0, { resolve, reject });
    });
    return started;
  }

  call<Name extends keyof StoreCommands>(
    name: Name,
    ...args: Parameters<StoreCommands[Name]>
  ): ReturnType<StoreCommands[Name]> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answer = new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    this.#child.send({ id, name, args });
    return answer as ReturnType<StoreCommands[Name]>;
  }

  /** Kills it with SIGKILL, and waits until it is gone. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** Resolves once it is gone. */
  ended(): Promise<void> {
    return this.#ended;
  }
}
