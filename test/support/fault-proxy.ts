/**
 * An HTTP proxy in front of a real server that fails single requests: before they reach the server, after they took
 * effect there, and in the middle of the answer, at any byte of it.
 */
import {
  createServer,
  request as sendRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

export type ProxyFault =
  /** An answer of the proxy's own; the server sees nothing. */
  | { readonly kind: 'answer'; readonly status: number; readonly body?: string }
  /** The connection ends before the server sees anything. */
  | { readonly kind: 'lost' }
  /** The request takes effect, then the connection ends without an answer. */
  | { readonly kind: 'lostReply' }
  /** The connection ends after this many bytes of the answer, its status line and headers included. */
  | { readonly kind: 'cut'; readonly at: number }
  /** One bit of this byte of the body is flipped. */
  | { readonly kind: 'flip'; readonly at: number }
  /** The request takes effect, and no answer ever comes. */
  | { readonly kind: 'silence' };

export interface ProxiedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  /** Requests before this one, since the proxy started. */
  readonly index: number;
}

export type FaultPlan = (request: ProxiedRequest) => ProxyFault | undefined;

/** What the proxy saw, in order. */
export interface ProxyLog {
  readonly method: string;
  readonly url: string;
  readonly fault: ProxyFault['kind'] | undefined;
}

const NO_FAULTS: FaultPlan = () => undefined;

export class FaultProxy {
  readonly log: ProxyLog[] = [];
  readonly #target: URL;
  readonly #server: Server;
  #plan: FaultPlan = NO_FAULTS;
  /** Bytes of the last whole answer, for choosing where to cut. */
  lastAnswerBytes = 0;
  /** Bytes that the last answer would have had that was cut. */
  cutAnswerBytes = 0;

  constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => request.socket.destroy());
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Replaces the plan and forgets the log. */
  plan(plan: FaultPlan = NO_FAULTS): void {
    this.#plan = plan;
    this.log.length = 0;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const fault = this.#plan({ method, url, headers, index: this.log.length });
    this.log.push({ method, url, fault: fault?.kind });
    const body = await collect(request);
    if (fault?.kind === 'lost') {
      request.socket.destroy();
      return;
    }
    if (fault?.kind === 'answer') {
      const answer = fault.body ?? '';
      response.writeHead(fault.status, { 'content-length': Buffer.byteLength(answer) }).end(answer);
      return;
    }
    const answer = await this.#forward(request, body);
    this.#reply(request, answer, fault);
  }

  async #forward(request: IncomingMessage, body: Buffer): Promise<{ head: string; body: Buffer }> {
    const { hostname, port } = this.#target;
    const { method = '', url: path = '', headers } = request;
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { hostname, port, method, path, headers: { ...headers, connection: 'close' } };
      sendRequest(options, resolve).once('error', reject).end(body);
    });
    const received = await collect(answer);
    const lines = [`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}`];
    for (let index = 0; index < answer.rawHeaders.length; index += 2) {
      const name = answer.rawHeaders[index] ?? '';
      if (!['connection', 'transfer-encoding', 'keep-alive'].includes(name.toLowerCase())) {
        lines.push(`${name}: ${answer.rawHeaders[index + 1]}`);
      }
    }
    const isMeasured = answer.headers['content-length'] !== undefined || answer.statusCode === 204;
    if (!isMeasured) lines.push(`Content-Length: ${received.length}`);
    return { head: `${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`, body: received };
  }

  #reply(request: IncomingMessage, answer: { head: string; body: Buffer }, fault: ProxyFault | undefined): void {
    const { socket } = request;
    const body = Buffer.from(answer.body);
    if (fault?.kind === 'flip') body[fault.at] = (body[fault.at] ?? 0) ^ 1;
    const whole = Buffer.concat([Buffer.from(answer.head), body]);
    this.lastAnswerBytes = whole.length;
    if (fault?.kind === 'cut') this.cutAnswerBytes = whole.length;
    if (fault?.kind === 'silence') return;
    if (fault?.kind === 'lostReply') socket.destroy();
    else if (fault?.kind === 'cut') socket.end(whole.subarray(0, fault.at));
    else socket.end(whole);
  }
}

async function collect(stream: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}
