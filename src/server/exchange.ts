/** One request and its answer, as handlers see them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerContext } from './context.ts';
import { badRequest } from './problem.ts';

const JSON_MEDIA_TYPE = 'application/json';
const WHOLE = /^\d{1,16}$/;

/** The client has gone: nothing is left to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** Sent with every answer: what a store holds is nobody's page, script or frame. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
};

export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly context: ServerContext;
  readonly parameters: Readonly<Record<string, string>>;
  readonly #query: URLSearchParams;
  #gone: AbortController | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    context: ServerContext,
    parameters: Readonly<Record<string, string>>,
    query: URLSearchParams,
  ) {
    this.request = request;
    this.response = response;
    this.context = context;
    this.parameters = parameters;
    this.#query = query;
  }

  /** Aborted when the client goes. */
  get gone(): AbortSignal {
    if (this.#gone === undefined) {
      const gone = new AbortController();
      this.#gone = gone;
      this.response.once('close', () => {
        gone.abort(new ClientGone());
      });
    }
    return this.#gone.signal;
  }

  /** Aborted when the client goes, or the server stops. */
  get leaving(): AbortSignal {
    return AbortSignal.any([this.gone, this.context.stopping]);
  }

  parameter(name: string): string {
    return this.parameters[name] ?? '';
  }

  query(name: string): string | undefined {
    return this.#query.get(name) ?? undefined;
  }

  /** Throws 400 for anything but a whole number within the bounds. */
  queryNumber(name: string, fallback: number, from: number, to: number): number {
    const text = this.query(name);
    if (text === undefined) return fallback;
    const value = Number(text);
    if (WHOLE.test(text) && value >= from && value <= to) return value;
    throw badRequest(400, `query parameter ${name} is a whole number from ${from} to ${to}, not ${text}`);
  }

  queryFlag(name: string): boolean {
    return this.queryChoice(name, 'false', ['true', 'false']) === 'true';
  }

  queryChoice<T extends string>(name: string, fallback: T, choices: readonly T[]): T {
    const text = this.query(name) ?? fallback;
    const choice = choices.find((candidate) => candidate === text);
    if (choice !== undefined) return choice;
    throw badRequest(400, `query parameter ${name} is ${choices.join(' or ')}, not ${text}`);
  }

  /** Answers with an object. */
  json(value: object, status = 200, mediaType: string = JSON_MEDIA_TYPE): void {
    this.send(status, mediaType, `${JSON.stringify(value)}\n`);
  }

  send(status: number, mediaType: string, body: string | Buffer, headers: Readonly<Record<string, string>> = {}): void {
    this.response.writeHead(status, {
      ...SAFE_HEADERS,
      'content-type': mediaType,
      'content-length': Buffer.byteLength(body),
      ...headers,
    });
    this.response.end(body);
  }

  noContent(): void {
    this.response.writeHead(204, SAFE_HEADERS);
    this.response.end();
  }

  /** Begins an answer of unknown length. False where that was all of it: a HEAD asks for no more. */
  begin(mediaType: string, headers: Readonly<Record<string, string>> = {}): boolean {
    this.response.writeHead(200, { ...SAFE_HEADERS, 'content-type': mediaType, ...headers });
    if (this.request.method !== 'HEAD') return true;
    this.response.end();
    return false;
  }

  /** Resolves when the client has taken enough for more; rejects with `ClientGone` when it never will. */
  async write(text: string): Promise<void> {
    const { response } = this;
    if (text === '') return;
    if (response.destroyed) throw new ClientGone();
    if (response.write(text)) return;
    await new Promise<void>((resolve, reject) => {
      const drained = (): void => {
        response.off('close', closed);
        resolve();
      };
      const closed = (): void => {
        response.off('drain', drained);
        reject(new ClientGone());
      };
      response.once('drain', drained);
      response.once('close', closed);
    });
  }

  /** Runs work that the client has to wait for: its silence meanwhile is no reason to close the connection. */
  async patiently<T>(work: Promise<T>): Promise<T> {
    const { socket } = this.request;
    socket.setTimeout(0);
    try {
      return await work;
    } finally {
      socket.setTimeout(this.context.settings.idleTimeout);
    }
  }
}
