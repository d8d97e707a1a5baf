/** Redis streams: one log of commands for all streams, everything in memory beside it. */
import { loadPackage } from '../packages.ts';
import type { Peer, PeerLog, PeerOptions } from '../peer.ts';
import { type ServerProgram, programPath } from '../servers/program.ts';
import { freePorts, LOOPBACK, Server } from '../servers/server.ts';

/** What is used of the package. */
interface RedisModule {
  Redis: new (options: {
    host: string;
    port: number;
    enableReadyCheck: boolean;
    lazyConnect: boolean;
    retryStrategy: () => null;
  }) => Client;
}

interface Client {
  on(event: 'error', listener: () => void): void;
  connect(): Promise<void>;
  ping(): Promise<string>;
  xlen(key: string): Promise<number>;
  callBuffer(command: string, ...values: (string | number)[]): Promise<Entry[]>;
  multi(): Transaction;
  disconnect(): void;
}

interface Transaction {
  xadd(key: string, id: string, field: string, value: Buffer): void;
  exec(): Promise<[Error | null, unknown][] | null>;
}

/** Identifier, and fields with their values in turn. */
type Entry = readonly [Buffer, readonly [Buffer, Buffer]];

const PROGRAM: ServerProgram = {
  name: 'redis-server',
  versionArguments: ['--version'],
  packageName: 'redis-server',
};
const SCAN_AT_ONCE = 1_000;

export const redis: Peer = {
  name: 'redis streams',
  packages: ['ioredis'],
  program: PROGRAM,
  guarantee: 'on disk: `appendfsync always`, a transaction a group; all of it is in memory too',
  durable: true,
  groups: 2,
  reads: true,
  open: async (options) => {
    const [port] = (await freePorts(1)) as [number];
    const server = new Server({ dir: options.dir, path: programPath(PROGRAM)!, args: argumentsOf(options.dir, port) });
    const client = await server.ready(() => connectTo(port));
    return { ...logOf(client, options), server, close: () => closeBoth(client, server) };
  },
};

/** Everything that it would do beside the log is off: snapshots, and rewriting of the log. */
function argumentsOf(dir: string, port: number): string[] {
  return [
    ...['--bind', LOOPBACK, '--port', String(port), '--dir', dir, '--daemonize', 'no', '--save', ''],
    ...['--appendonly', 'yes', '--appendfsync', 'always', '--auto-aof-rewrite-percentage', '0'],
  ];
}

/** Rejects while the server does not listen, and while it reads its log. */
async function connectTo(port: number): Promise<Client> {
  const { Redis } = loadPackage<RedisModule>('ioredis');
  const client = new Redis({
    ...{ host: LOOPBACK, port, lazyConnect: true, enableReadyCheck: false },
    retryStrategy: () => null,
  });
  // Without a listener it prints what `connect` rejects with as well.
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.ping();
    return client;
  } catch (error) {
    client.disconnect();
    throw error;
  }
}

function logOf(client: Client, { streams, acknowledged, failed }: PeerOptions): Omit<PeerLog, 'close'> {
  const keys = Array.from({ length: streams }, (_, index) => `stream-${index}`);
  const first = keys[0]!;
  const range = (from: string, to: string, count: number): Promise<Entry[]> =>
    client.callBuffer('XRANGE', first, from, to, 'COUNT', count);
  // One stream is numbered here, so that a record can be found by its number.
  let next: number | undefined = streams === 1 ? 0 : undefined;
  return {
    append: (values, firstStream) => {
      const transaction = client.multi();
      for (let index = 0; index < values.length; index += 1) {
        const id = next === undefined ? '*' : idOf(next++);
        transaction.xadd(keys[(firstStream + index) % streams]!, id, 'v', values[index]!);
      }
      transaction.exec().then((answers) => {
        const refused = answers?.find(([error]) => error !== null)?.[0];
        if (answers === null || refused !== undefined) failed(refused ?? new Error('the transaction was refused'));
        else acknowledged(values.length);
      }, failed);
    },
    count: async () => {
      const count = await client.xlen(first);
      if (next !== undefined) next = count;
      return count;
    },
    get: async (index) => (await range(idOf(index), idOf(index), 1))[0]?.[1][1],
    scan: async (visit) => {
      for (let entries = await range('-', '+', SCAN_AT_ONCE); entries.length > 0;) {
        for (const [, [, value]] of entries) visit(value);
        entries = await range(`(${entries[entries.length - 1]![0].toString('latin1')}`, '+', SCAN_AT_ONCE);
      }
    },
  };
}

/** 0-0 is none. */
function idOf(index: number): string {
  return `0-${index + 1}`;
}

async function closeBoth(client: Client, server: Server): Promise<void> {
  client.disconnect();
  await server.stop();
}
