/** RabbitMQ streams: logs of chunks, here with one replica, over the stream protocol. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadPackage } from '../packages.ts';
import type { Peer, PeerLog, PeerOptions, PeerServer } from '../peer.ts';
import { programPath, type ServerProgram } from '../servers/program.ts';
import { accepts, freePorts, LOOPBACK, Server } from '../servers/server.ts';

/** What is used of the package. */
interface StreamsModule {
  connect(options: {
    hostname: string;
    port: number;
    username: string;
    password: string;
    vhost: string;
  }): Promise<Client>;
  readonly Offset: { first(): unknown; last(): unknown };
}

interface Client {
  createStream(options: { stream: string }): Promise<boolean>;
  declarePublisher(options: { stream: string; maxChunkLength: number }): Promise<Publisher>;
  declareConsumer(options: { stream: string; offset: unknown }, handle: (message: Message) => void): Promise<Consumer>;
  close(): Promise<void>;
}

interface Publisher {
  send(message: Buffer): Promise<unknown>;
  on(event: 'publish_confirm', listener: (error: number | null, publishingIds: readonly bigint[]) => void): void;
}

interface Consumer {
  close(manually: boolean): Promise<void>;
}

interface Message {
  readonly content: Buffer;
  readonly offset?: bigint;
}

/** The part of the package's connection that is mended below. */
interface Handshake {
  readonly peerProperties: { readonly version: string };
  exchangeCommandVersions: (this: Handshake) => Promise<void>;
}

interface ConnectionModule {
  readonly Connection: {
    readonly prototype: Handshake;
  };
}

const PROGRAM: ServerProgram = {
  name: 'rabbitmq-server',
  // Debian's program in PATH starts the machine's own broker, as a user of its own.
  places: ['/usr/lib/rabbitmq/bin/rabbitmq-server'],
  packageName: 'rabbitmq-server',
};
const EPMD: ServerProgram = { name: 'epmd', packageName: 'erlang-base' };
const STREAM = 'records';
/** Bytes of a publish frame: the broker takes a MiB. */
const FRAME_BYTES = 900_000;
const CHUNK_RECORDS_MAX = 2_000;
/** Milliseconds after which a new stream outlives a kill of the broker. */
const SETTLED_AFTER = 4_000;
/** Milliseconds after which a stream that delivers nothing counts as empty. */
const EMPTY_AFTER = 5_000;

export const rabbitMq: Peer = {
  name: 'rabbitmq streams',
  packages: ['rabbitmq-stream-js-client'],
  program: PROGRAM,
  guarantee: 'in the page cache: a stream confirms what is written, and leaves the sync to the system',
  durable: false,
  groups: 2,
  reads: true,
  // It reads from an offset on, chunk by chunk.
  gets: false,
  // Its client has a connection for each publisher.
  streamsMax: 1,
  open: async (options) => {
    const { servers, port } = await startBroker(options.dir);
    const [broker, names] = servers;
    mendHandshake();
    const streams = loadPackage<StreamsModule>('rabbitmq-stream-js-client');
    const login = { hostname: LOOPBACK, port, username: 'guest', password: 'guest', vhost: '/' };
    const client = await broker.ready(() => streams.connect(login));
    // After a crash the stream has no leader at first.
    const publisher = await broker.ready(async () => {
      await client.createStream({ stream: STREAM });
      const maxChunkLength = Math.min(CHUNK_RECORDS_MAX, Math.floor(FRAME_BYTES / (options.recordBytes + 32)));
      return client.declarePublisher({ stream: STREAM, maxChunkLength });
    });
    const close = async (): Promise<void> => {
      await client.close();
      await broker.stop();
      await names.stop();
    };
    const server = crashing(broker, names, performance.now());
    return { ...logOf(client, publisher, streams.Offset, options), server, close };
  },
};

/**
 * The broker, to be killed when what it knows of a new stream is written: in its first seconds that is in memory alone,
 * and the stream does not come back. Here it is records that are in question.
 */
function crashing(broker: Server, names: Server, begun: number): PeerServer {
  return {
    processorSeconds: () => broker.processorSeconds(),
    peakBytes: () => broker.peakBytes(),
    kill: async () => {
      await sleep(Math.max(0, SETTLED_AFTER - (performance.now() - begun)));
      await broker.kill();
      await names.kill();
    },
  };
}

/** The broker, and the daemon of Erlang that knows its name. */
async function startBroker(dir: string): Promise<{ servers: readonly [Server, Server]; port: number }> {
  const [port, amqpPort, distributionPort, namesPort] = (await freePorts(4)) as [number, number, number, number];
  const configuration = [
    `listeners.tcp.1 = ${LOOPBACK}:${amqpPort}`,
    `stream.listeners.tcp.1 = ${LOOPBACK}:${port}`,
    `stream.advertised_host = ${LOOPBACK}`,
    `stream.advertised_port = ${port}`,
    'log.file = false',
    'log.console = true',
    'log.console.level = warning',
  ];
  const configurationPath = join(dir, 'rabbitmq.conf');
  const pluginsPath = join(dir, 'plugins');
  writeFileSync(configurationPath, `${configuration.join('\n')}\n`);
  writeFileSync(pluginsPath, '[rabbitmq_stream].\n');
  const names = new Server({
    dir,
    path: programPath(EPMD)!,
    args: ['-port', String(namesPort), '-address', LOOPBACK],
  });
  await names.ready(() => accepts(namesPort));
  const broker = new Server({
    dir,
    path: programPath(PROGRAM)!,
    args: [],
    environment: {
      PATH: process.env['PATH'],
      // Its cookie goes there.
      HOME: dir,
      ERL_EPMD_PORT: String(namesPort),
      ERL_EPMD_ADDRESS: LOOPBACK,
      RABBITMQ_NODENAME: 'bench@localhost',
      RABBITMQ_MNESIA_BASE: join(dir, 'data'),
      RABBITMQ_LOG_BASE: join(dir, 'log'),
      RABBITMQ_CONFIG_FILE: configurationPath,
      RABBITMQ_ENABLED_PLUGINS_FILE: pluginsPath,
      RABBITMQ_CONF_ENV_FILE: '/dev/null',
      RABBITMQ_DIST_PORT: String(distributionPort),
      // The script becomes the broker, so that its process id is the broker's; the second option takes its shell away.
      RABBITMQ_ALLOW_INPUT: '1',
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-noinput -kernel inet_dist_use_interface {127,0,0,1}',
    },
  });
  try {
    await broker.ready(() => accepts(port));
  } catch (error) {
    await names.stop();
    throw error;
  }
  return { servers: [broker, names], port };
}

/** Brokers before 3.11 end a connection that asks for the versions of commands, as this client does. */
function mendHandshake(): void {
  const { prototype } = loadPackage<ConnectionModule>('rabbitmq-stream-js-client/dist/connection.js').Connection;
  const ask = prototype.exchangeCommandVersions;
  prototype.exchangeCommandVersions = async function (): Promise<void> {
    const [major = 0, minor = 0] = this.peerProperties.version.split('.').map(Number);
    if (major > 3 || (major === 3 && minor >= 11)) await ask.call(this);
  };
}

function logOf(
  client: Client,
  publisher: Publisher,
  offsets: StreamsModule['Offset'],
  { acknowledged, failed }: PeerOptions,
): Omit<PeerLog, 'close'> {
  publisher.on('publish_confirm', (error, publishingIds) => {
    if (error === null) acknowledged(publishingIds.length);
    else failed(new Error(`the broker refused a record with code ${error}`));
  });
  const consume = (offset: unknown, handle: (message: Message) => void): Promise<Consumer> =>
    client.declareConsumer({ stream: STREAM, offset }, handle);
  /** Reads the last chunk: the protocol of older brokers has no other question for it. */
  const count = async (): Promise<number> => {
    let found = 0;
    let consumer: Consumer | undefined;
    await new Promise<void>((resolve, reject) => {
      const empty = setTimeout(resolve, EMPTY_AFTER);
      consume(offsets.last(), ({ offset }) => {
        found = Number(offset) + 1;
        clearTimeout(empty);
        // The messages of a chunk come in one turn.
        setImmediate(resolve);
      }).then((declared) => {
        consumer = declared;
      }, reject);
    });
    await consumer?.close(true);
    return found;
  };
  return {
    append: (values) => {
      for (const value of values) publisher.send(value).catch(failed);
    },
    count,
    get: () => {
      throw new Error('a stream has no reads of single records');
    },
    scan: async (visit) => {
      const records = await count();
      let consumer: Consumer | undefined;
      await new Promise<void>((resolve, reject) => {
        consume(offsets.first(), ({ content, offset }) => {
          visit(content);
          if (Number(offset) + 1 === records) setImmediate(resolve);
        }).then((declared) => {
          consumer = declared;
        }, reject);
      });
      await consumer?.close(true);
    },
  };
}
