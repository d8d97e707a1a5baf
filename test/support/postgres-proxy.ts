/**
 * A proxy in front of PostgreSQL that understands where a client's messages begin and end, and loses connections at
 * them: before the server sees a message, or after the server has answered it and before the client hears of that.
 */
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';

export type ProxyFate =
  | 'pass'
  /** The server never sees the message; both connections end. */
  | 'cutBefore'
  /** The server acts on the message; the connection ends instead of its answer. */
  | 'cutAfter'
  /** The server acts on the message, and no answer ever comes. */
  | 'silence';

export interface ClientMessage {
  /** Its type byte: `Q` and `P` carry SQL. */
  readonly type: string;
  readonly text: string;
  /** Messages before this one on all connections since the plan was made. */
  readonly index: number;
}

export type ProxyPlan = (message: ClientMessage) => ProxyFate;

const HEADER_BYTES = 5;
/** Sync and simple Query: the server answers these, and whatever came before them. */
const ASKS_FOR_ANSWER = ['S', 'Q'];

export class PostgresProxy {
  readonly #server: Server;
  readonly #target: number;
  readonly #sockets: Set<Socket> = new Set();
  #plan: ProxyPlan = () => 'pass';
  #count = 0;

  constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => {
      new Link(client, this.#open(connect(this.#target, '127.0.0.1')), (type, text) => this.#judge(type, text));
      this.#open(client);
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Messages that clients have sent since the last plan. */
  get count(): number {
    return this.#count;
  }

  plan(plan: ProxyPlan): void {
    this.#plan = plan;
    this.#count = 0;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #judge(type: string, text: string): ProxyFate {
    const fate = this.#plan({ type, text, index: this.#count });
    this.#count += 1;
    return fate;
  }

  #open(socket: Socket): Socket {
    // A message of several small parts would wait for acknowledgements.
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    return socket;
  }
}

/** One client's connection and the one to the server that belongs to it. */
class Link {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #judge: (type: string, text: string) => ProxyFate;
  #pending: Buffer = Buffer.alloc(0);
  /** The first message has no type. */
  #isStarted = false;
  /** What to do with the server's next bytes. */
  #fate: ProxyFate = 'pass';

  constructor(client: Socket, server: Socket, judge: (type: string, text: string) => ProxyFate) {
    this.#client = client;
    this.#server = server;
    this.#judge = judge;
    client.on('data', (bytes) => this.#fromClient(bytes));
    server.on('data', (bytes) => this.#fromServer(bytes));
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  }

  #fromClient(bytes: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, bytes]);
    for (;;) {
      const start = this.#isStarted ? 1 : 0;
      if (this.#pending.length < start + 4) return;
      const length = start + this.#pending.readUInt32BE(start);
      if (this.#pending.length < length) return;
      const message = this.#pending.subarray(0, length);
      this.#pending = this.#pending.subarray(length);
      this.#isStarted = true;
      if (!this.#forward(message, start)) return;
    }
  }

  /** Returns false when the connection is no more. */
  #forward(message: Buffer, start: number): boolean {
    const type = start === 0 ? 'start' : message.toString('latin1', 0, 1);
    const fate = this.#judge(type, message.toString('latin1', HEADER_BYTES));
    if (fate === 'cutBefore') {
      this.#cut();
      return false;
    }
    if (fate !== 'pass') this.#fate = fate;
    this.#server.write(message);
    // Messages that are answered together with a later one are never answered when that does not come.
    const isAnswered = start === 0 || type === 'p' || ASKS_FOR_ANSWER.includes(type);
    if (fate === 'cutAfter' && !isAnswered) {
      this.#cut();
      return false;
    }
    return true;
  }

  #fromServer(bytes: Buffer): void {
    if (this.#fate === 'pass') this.#client.write(bytes);
    else if (this.#fate === 'cutAfter') this.#cut();
  }

  #cut(): void {
    this.#client.destroy();
    this.#server.destroy();
  }
}
