/**
 * A real S3 server for tests: Ceph's gateway over one monitor and one storage daemon that keeps its objects in
 * memory, all on the loopback interface. Installed from Debian's packages when missing; started in about two seconds.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { S3Credentials } from '../../src/object/s3/options.ts';
import { freePorts, hasProgram, run, ServerProcess, until } from './child-processes.ts';
import { temporaryDirectory, type TemporaryDirectory } from './temporary-directory.ts';

const PACKAGES = ['ceph-mon', 'ceph-osd', 'radosgw', 'ceph-common'];
const PROGRAMS = ['ceph-mon', 'ceph-osd', 'radosgw', 'radosgw-admin', 'ceph', 'monmaptool', 'ceph-authtool'];
const INSTALL_TIMEOUT = 240_000;

/** Installs what is missing. Returns why there can be no server on this machine, or `undefined` when there can. */
export async function installCeph(): Promise<string | undefined> {
  const isComplete = (): boolean => PROGRAMS.every(hasProgram);
  if (isComplete()) return undefined;
  if (!hasProgram('apt-get')) return 'no radosgw, and no apt-get to install it';
  if (process.getuid?.() !== 0) return 'no radosgw, and only root may install it';
  try {
    await run('apt-get', ['update'], INSTALL_TIMEOUT);
    // Another test run on the same machine may be installing just now.
    const patience = ['-o', 'DPkg::Lock::Timeout=120'];
    await run('apt-get', [...patience, 'install', '-y', '--no-install-recommends', ...PACKAGES], INSTALL_TIMEOUT);
  } catch (error) {
    return `no radosgw, and apt-get could not install it: ${error instanceof Error ? error.message : String(error)}`;
  }
  return isComplete() ? undefined : 'the packages of radosgw lack a program';
}

export interface S3Server {
  readonly endpoint: string;
  /** Owns every bucket. */
  readonly owner: S3Credentials;
  /** A valid user that may touch none of the owner's buckets. */
  readonly stranger: S3Credentials;
  createBucket(bucket: string): Promise<void>;
  stop(): Promise<void>;
}

export async function startCeph(): Promise<S3Server> {
  const directory = temporaryDirectory();
  const cluster = new Cluster(directory, await freePorts(3));
  try {
    await cluster.start();
    const owner = await cluster.addUser('owner');
    const stranger = await cluster.addUser('stranger');
    const { endpoint } = cluster;
    const createBucket = async (bucket: string): Promise<void> => {
      const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials: { ...owner } });
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
      client.destroy();
    };
    return { endpoint, owner, stranger, createBucket, stop: () => cluster.stop() };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

class Cluster {
  readonly endpoint: string;
  readonly #directory: TemporaryDirectory;
  readonly #ports: readonly number[];
  readonly #clusterId = randomUUID();
  readonly #servers: ServerProcess[] = [];

  constructor(directory: TemporaryDirectory, ports: readonly number[]) {
    this.#directory = directory;
    this.#ports = ports;
    this.endpoint = `http://127.0.0.1:${ports[2]}`;
  }

  async start(): Promise<void> {
    for (const name of ['mon', 'osd', 'run', 'log']) mkdirSync(this.#path(name));
    writeFileSync(this.#path('ceph.conf'), this.#configuration());
    await this.#startMonitor();
    await this.#startStorage();
    this.#serve('radosgw', '-n', 'client.admin', '--keyring', this.#path('keyring'));
    await until('an answer of the gateway', () => this.#answers());
  }

  async addUser(name: string): Promise<S3Credentials> {
    const credentials = { accessKeyId: `${name}-key-id`, secretAccessKey: `${name}-secret-${randomUUID()}` };
    await run('radosgw-admin', [
      ...this.#settings(),
      'user',
      'create',
      `--uid=${name}`,
      `--display-name=${name}`,
      `--access-key=${credentials.accessKeyId}`,
      `--secret-key=${credentials.secretAccessKey}`,
    ]);
    return credentials;
  }

  async stop(): Promise<void> {
    for (const server of this.#servers.reverse()) await server.kill();
    this.#directory.remove();
  }

  async #startMonitor(): Promise<void> {
    const keyring = this.#path('keyring');
    const all = ['mon', 'osd'].flatMap((service) => ['--cap', service, 'allow *']);
    await run('ceph-authtool', ['--create-keyring', keyring, '--gen-key', '-n', 'mon.', '--cap', 'mon', 'allow *']);
    await run('ceph-authtool', [keyring, '--gen-key', '-n', 'client.admin', ...all]);
    const map = this.#path('monmap');
    await run('monmaptool', ['--create', '--addv', 'a', this.#monitorAddress(), '--fsid', this.#clusterId, map]);
    await run('ceph-mon', [...this.#settings(), '--mkfs', '-i', 'a', '--monmap', map, '--keyring', keyring]);
    this.#serve('ceph-mon', '-i', 'a');
  }

  async #startStorage(): Promise<void> {
    // The monitor ignores a daemon whose data carries another identity than the one it was told of.
    const identity = randomUUID();
    const id = (await this.#admin('osd', 'new', identity)).trim();
    const rights = ['mon', 'allow profile osd', 'osd', 'allow *'];
    await this.#admin('auth', 'get-or-create', `osd.${id}`, ...rights, '-o', this.#path('osd/keyring'));
    await run('ceph-osd', [...this.#settings(), '-i', id, '--mkfs', '--osd-uuid', identity]);
    await this.#admin('osd', 'crush', 'add', id, '1.0', 'host=h0', 'root=default');
    this.#serve('ceph-osd', '-i', id);
    await until('the start of the storage daemon', async () => (await this.#admin('osd', 'stat')).includes('1 up'));
  }

  #serve(program: string, ...args: string[]): void {
    const logPath = this.#path(`log/${program}.out`);
    this.#servers.push(new ServerProcess(program, [...this.#settings(), '-f', ...args], logPath));
  }

  #admin(...args: string[]): Promise<string> {
    return run('ceph', [...this.#settings(), '-n', 'client.admin', ...args]);
  }

  async #answers(): Promise<boolean> {
    return fetch(this.endpoint).then(
      () => true,
      () => false,
    );
  }

  #settings(): string[] {
    return ['-c', this.#path('ceph.conf')];
  }

  #path(name: string): string {
    return join(this.#directory.path, name);
  }

  #monitorAddress(): string {
    return `[v2:127.0.0.1:${this.#ports[0]},v1:127.0.0.1:${this.#ports[1]}]`;
  }

  /**
   * Authentication stays on: without it the gateway never connects. The shortened Paxos interval turns eleven seconds
   * of start into one; without TCP_NODELAY many requests take 45 ms.
   */
  #configuration(): string {
    const settings: Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>> = {
      global: {
        fsid: this.#clusterId,
        'mon host': this.#monitorAddress(),
        'mon initial members': 'a',
        'public addr': '127.0.0.1',
        'cluster addr': '127.0.0.1',
        keyring: this.#path('keyring'),
        'run dir': this.#path('run'),
        'admin socket': this.#path('run/$name.$pid.asok'),
        'pid file': this.#path('run/$name.pid'),
        'log file': this.#path('log/$name.log'),
        'log to stderr': false,
        'auth allow insecure global id reclaim': true,
        'osd pool default size': 1,
        'osd pool default min size': 1,
        'osd pool default pg num': 8,
        'osd pool default pgp num': 8,
        'osd pool default pg autoscale mode': 'off',
        'osd crush chooseleaf type': 0,
        'mon allow pool size one': true,
        'mon data avail crit': 1,
        'mon data avail warn': 2,
        'paxos propose interval': 0.05,
        'paxos min wait': 0.01,
      },
      'mon.a': { 'mon data': this.#path('mon'), 'mon cluster log file': this.#path('log/cluster.log') },
      osd: {
        'osd data': this.#path('osd'),
        keyring: this.#path('osd/keyring'),
        'osd objectstore': 'memstore',
        'memstore device bytes': 2 ** 30,
        'osd class update on start': false,
      },
      'client.admin': {
        'rgw frontends': `beast endpoint=127.0.0.1:${this.#ports[2]} tcp_nodelay=1`,
        'rgw enable usage log': false,
        'rgw thread pool size': 32,
      },
    };
    const section = ([name, values]: [string, object]): string =>
      [`[${name}]`, ...Object.entries(values).map(([key, value]) => `${key} = ${String(value)}`)].join('\n');
    return Object.entries(settings).map(section).join('\n') + '\n';
  }
}
