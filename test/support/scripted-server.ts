/** An HTTP server that answers as a test says, for answers that no real server can be made to give. */
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface ScriptedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Answers request number `index`, counted from 0. */
export type Script = (request: ReceivedRequest, index: number) => ScriptedAnswer;

export class ScriptedServer {
  readonly received: ReceivedRequest[] = [];
  readonly #server: Server;
  #script: Script = () => ({ status: 500 });

  constructor() {
    this.#server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        const received = { method, url, headers, body: Buffer.concat(pieces) };
        this.received.push(received);
        const { status = 200, headers: answered = {}, body = '' } = this.#script(received, this.received.length - 1);
        const length = method === 'HEAD' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
        response.writeHead(status, { ...length, ...answered }).end(method === 'HEAD' ? '' : body);
      });
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Replaces the script and forgets what was received. */
  script(script: Script): void {
    this.#script = script;
    this.received.length = 0;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
