/** NATS JetStream: a file of messages for each stream; many streams are subjects of one, as is usual there. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadPackage } from '../packages.ts';
import type { Peer, PeerLog, PeerOptions } from '../peer.ts';
import { absenceOf, programPath, runProgram, type ServerProgram } from '../servers/program.ts';
import { accepts, freePorts, LOOPBACK, Server } from '../servers/server.ts';

/** What is used of the package. */
interface Nats {
  readonly connect: (options: { servers: string; reconnect: boolean }) => Promise<Connection>;
}

interface Connection {
  jetstream(options: { timeout: number }): JetStream;
  jetstreamManager(options: { timeout: number }): Promise<Manager>;
  close(): Promise<void>;
}

interface JetStream {
  publish(subject: string, value: Uint8Array): Promise<unknown>;
  readonly consumers: { get(stream: string): Promise<Consumer> };
}

interface Consumer {
  consume(options: { max_messages: number }): Promise<AsyncIterable<Message> & { stop(): void }>;
}

interface Message {
  readonly data: Uint8Array;
  readonly seq: number;
}

interface Manager {
  readonly streams: {
    add(configuration: { name: string; subjects: string[]; storage: 'file'; allow_direct: boolean }): Promise<unknown>;
    info(stream: string): Promise<{ readonly state: { readonly last_seq: number } }>;
  };
  readonly direct: { getMessage(stream: string, query: { seq: number }): Promise<{ readonly data: Uint8Array }> };
}

const PROGRAM: ServerProgram = {
  name: 'nats-server',
  versionArguments: ['--version'],
  packageName: 'nats-server',
};
const STREAM = 'records';
const SCAN_AT_ONCE = 1_000;
/** Milliseconds of a call: many wait for others here. */
const TIMEOUT = 60_000;

let always: boolean | undefined;

export const jetStream: Peer = {
  name: 'nats jetstream',
  packages: ['nats'],
  program: PROGRAM,
  get guarantee() {
    if (this.durable) return 'on disk: `sync_interval: always`';
    return 'in the page cache: synced every two minutes (this version does not know `sync_interval: always`)';
  },
  get durable() {
    return syncsAlways();
  },
  groups: 2,
  reads: true,
  open: async (options) => {
    const [port] = (await freePorts(1)) as [number];
    const configuration = join(options.dir, 'nats.conf');
    writeFileSync(configuration, configurationOf(options.dir, port, syncsAlways()));
    const path = programPath(PROGRAM)!;
    const server = new Server({ dir: options.dir, path, args: ['--config', configuration] });
    await server.ready(() => accepts(port));
    const { connect } = loadPackage<Nats>('nats');
    const connection = await server.ready(() => connect({ servers: `nats://${LOOPBACK}:${port}`, reconnect: false }));
    const close = async (): Promise<void> => {
      await connection.close();
      await server.stop();
    };
    return { ...(await server.ready(() => logOf(connection, options))), server, close };
  },
};

function configurationOf(dir: string, port: number, sync: boolean): string {
  const store = `store_dir: ${JSON.stringify(join(dir, 'jetstream'))}`;
  return `listen: "${LOOPBACK}:${port}"\njetstream {\n  ${store}\n${sync ? '  sync_interval: always\n' : ''}}\n`;
}

/** Asks the program whether it takes the setting: older ones refuse it. */
function syncsAlways(): boolean {
  if (absenceOf(PROGRAM) !== undefined) return false;
  if (always !== undefined) return always;
  const dir = mkdtempSync(join(tmpdir(), 'millrace-nats-'));
  try {
    const path = join(dir, 'nats.conf');
    writeFileSync(path, configurationOf(dir, 0, true));
    always = runProgram(PROGRAM, ['-t', '--config', path]).status === 0;
    return always;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function logOf(
  connection: Connection,
  { streams, acknowledged, failed }: PeerOptions,
): Promise<Omit<PeerLog, 'close'>> {
  const subjects = Array.from({ length: streams }, (_, index) => `records.${index}`);
  const manager = await connection.jetstreamManager({ timeout: TIMEOUT });
  await manager.streams.add({ name: STREAM, subjects: ['records.*'], storage: 'file', allow_direct: true });
  const jetstream = connection.jetstream({ timeout: TIMEOUT });
  const done = (): void => {
    acknowledged(1);
  };
  const count = async (): Promise<number> => (await manager.streams.info(STREAM)).state.last_seq;
  return {
    append: (values, firstStream) => {
      for (let index = 0; index < values.length; index += 1) {
        jetstream.publish(subjects[(firstStream + index) % streams]!, values[index]!).then(done, failed);
      }
    },
    count,
    get: async (index) => (await manager.direct.getMessage(STREAM, { seq: index + 1 })).data,
    scan: async (visit) => {
      const last = await count();
      const consumer = await jetstream.consumers.get(STREAM);
      const messages = await consumer.consume({ max_messages: SCAN_AT_ONCE });
      for await (const { data, seq } of messages) {
        visit(data);
        if (seq === last) messages.stop();
      }
    },
  };
}
