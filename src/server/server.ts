/** The HTTP server of a store. */
import { lookup } from 'node:dns/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { systemClock } from '../base/clock.ts';
import { lineMemory } from '../codec/line-memory.ts';
import { invalid } from '../errors/argument-checks.ts';
import { isMillraceError, MillraceError } from '../errors/millrace-error.ts';
import { KIB } from '../limits/limits.ts';
import type { Store } from '../store/store.ts';
import { Access, isLoopback } from './access.ts';
import { BodyMemory } from './body-memory.ts';
import type { ServerContext } from './context.ts';
import { Layout } from './layout.ts';
import { ClientGone, Exchange, SAFE_HEADERS } from './exchange.ts';
import { type ServeOptions, serverSettings, type ServerSettings } from './options.ts';
import { badRequest, PROBLEM_MEDIA_TYPE, problemOf } from './problem.ts';
import { RequestMetrics } from './request-metrics.ts';
import { type Match, Router } from './router.ts';
import { ROUTES } from './routes.ts';
import { Sampler } from './sampler.ts';

/** How often Node looks for connections whose headers are overdue. */
const CHECK_INTERVAL = 1_000;
/** What a client may still send after it was refused, in milliseconds: its answer would be lost by a reset. */
const LINGER = 2_000;
/** What one read of a socket gives. */
const CHUNK_BYTES: number = 64 * KIB;
const HEADER_BYTES_MAX: number = 16 * 1024;

/** A server that listens. */
export class StoreServer implements AsyncDisposable {
  /** Where it can be reached, such as `http://127.0.0.1:6455`, without a slash at its end. */
  readonly url: string;
  readonly #server: Server;
  readonly #context: ServerContext;
  readonly #stopping: AbortController;
  #closing: Promise<void> | undefined;

  /** @internal */
  constructor(server: Server, context: ServerContext, stopping: AbortController, url: string) {
    this.url = url;
    this.#server = server;
    this.#context = context;
    this.#stopping = stopping;
  }

  /**
   * Takes no more requests, ends those that follow streams, and lets the others finish; what is left after
   * `shutdownGrace` is cut off. The store stays open.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** As `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#stopping.abort();
    this.#context.sampler.stop();
    this.#server.closeIdleConnections();
    const cut = setTimeout(() => {
      this.#server.closeAllConnections();
    }, this.#context.settings.shutdownGrace);
    await closed;
    clearTimeout(cut);
  }
}

/**
 * Serves a store over HTTP: appends, reads, followers, metrics, and a dashboard at `/`. The store stays the caller's.
 * `ERR_MILLRACE_INVALID_ARGUMENT`: an option is wrong, or others than this machine could connect without a token.
 * `ERR_MILLRACE_UNAVAILABLE`: the address or the port cannot be had.
 */
export async function serve(store: Store, options: ServeOptions = {}): Promise<StoreServer> {
  // No `instanceof`: in a bundle the store may be of another copy of its class.
  if (typeof (store as Partial<Store> | null | undefined)?.stats !== 'function')
    throw invalid('serve takes an open store');
  const settings = serverSettings(options);
  const { address, family } = await addressOf(settings.host);
  const loopback = isLoopback(address, family);
  if (!loopback && settings.token === undefined) {
    throw new MillraceError(
      'ERR_MILLRACE_INVALID_ARGUMENT',
      `${settings.host} can be reached from other machines: set a token that requests have to carry`,
    );
  }
  const stopping = new AbortController();
  const monotonic = (): number => systemClock.monotonic();
  const context = {
    store,
    settings,
    metrics: new RequestMetrics(),
    sampler: new Sampler(store, monotonic),
    layout: new Layout(store, monotonic),
    bodyMemory: new BodyMemory(settings.maxLineBytes),
    lineMemory: lineMemory(1, CHUNK_BYTES),
    stopping: stopping.signal,
  };
  const access = new Access({ ...settings, loopback });
  const server = makeServer(settings, new Handler(context, access, new Router(ROUTES)));
  await listen(server, settings.port, address);
  context.sampler.start();
  const { port } = server.address() as AddressInfo;
  const host = family === 6 ? `[${address}]` : address;
  return new StoreServer(server, context, stopping, `http://${host}:${port}`);
}

async function addressOf(host: string): Promise<{ address: string; family: 4 | 6 }> {
  try {
    const { address, family } = await lookup(host);
    return { address, family: family === 6 ? 6 : 4 };
  } catch (error) {
    throw cannotListen(host, error);
  }
}

function makeServer(settings: ServerSettings, handler: Handler): Server {
  const server = createServer({
    connectionsCheckingInterval: CHECK_INTERVAL,
    headersTimeout: settings.headerTimeout,
    keepAliveTimeout: settings.idleTimeout,
    maxHeaderSize: HEADER_BYTES_MAX,
    // A body may take its time as long as bytes keep coming: the idle timeout judges that.
    requestTimeout: 0,
  });
  server.maxConnections = settings.maxConnections;
  server.setTimeout(settings.idleTimeout);
  server.on('request', (request, response) => void handler.handle(request, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    answerGarbage(error, socket);
  });
  return server;
}

function listen(server: Server, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error): void => reject(cannotListen(`${address}:${port}`, error));
    server.once('error', failed);
    server.listen({ port, host: address }, () => {
      server.off('error', failed);
      resolve();
    });
  });
}

function cannotListen(where: string, error: unknown): MillraceError {
  const reason = error instanceof Error ? error.message : String(error);
  return new MillraceError(
    'ERR_MILLRACE_UNAVAILABLE',
    `cannot listen on ${where}: ${reason}: choose another port or host`,
    { cause: error },
  );
}

/** What is no HTTP, has headers that are too long, or took too long to send them. */
function answerGarbage(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const status =
    { HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large', ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout' }[
      error.code ?? ''
    ] ?? '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

/** Takes requests one by one: whether they may ask, what they ask, and how it went. */
class Handler {
  readonly #context: ServerContext;
  readonly #access: Access;
  readonly #router: Router;

  constructor(context: ServerContext, access: Access, router: Router) {
    this.#context = context;
    this.#access = access;
    this.#router = router;
  }

  /** Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { metrics, stopping } = this.#context;
    const startedAt = systemClock.monotonic();
    let operation = 'none';
    metrics.active += 1;
    // A connection that is kept would keep the server from stopping.
    if (stopping.aborted) response.setHeader('connection', 'close');
    try {
      const [path, query] = split(request.url ?? '');
      checkSingleHost(request);
      this.#access.checkHost(request.headers);
      const match = this.#router.match(request.method, path);
      operation = match.route.operation;
      this.#admit(request, match);
      const given = new URLSearchParams(query);
      checkQuery(given, match.route.query);
      await match.route.handle(new Exchange(request, response, this.#context, match.parameters, given));
    } catch (error) {
      this.#fail(request, response, error);
    } finally {
      metrics.active -= 1;
      metrics.count(operation, response.statusCode, systemClock.monotonic() - startedAt);
      discardRest(request);
    }
  }

  #admit({ headers }: IncomingMessage, { route }: Match): void {
    if (route.isOpen === true) return;
    this.#access.checkOrigin(headers);
    this.#access.checkToken(headers);
  }

  #fail(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    if (error instanceof ClientGone || (isMillraceError(error) && request.socket.destroyed)) {
      response.destroy();
      return;
    }
    if (!isMillraceError(error)) this.#context.settings.onError(error);
    // Half an answer must not look like a whole one.
    if (response.headersSent) {
      response.destroy();
      return;
    }
    const { problem, headers } = problemOf(error);
    response.writeHead(problem.status, { ...SAFE_HEADERS, ...headers, 'content-type': PROBLEM_MEDIA_TYPE });
    response.end(`${JSON.stringify(problem)}\n`);
  }
}

/** Lets a client that was answered before it had sent everything read the answer. */
function discardRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const timer = setTimeout(() => request.socket.destroy(), LINGER);
  timer.unref();
  request.once('close', () => {
    clearTimeout(timer);
  });
}

/** Whom a request with two is for depends on who reads it: a proxy in front may have gone by the other one. */
function checkSingleHost({ headersDistinct }: IncomingMessage): void {
  if ((headersDistinct.host?.length ?? 0) > 1) throw badRequest(400, 'a request names one host');
}

/** A misspelt parameter must not be passed over in silence, nor one of two. */
function checkQuery(given: URLSearchParams, known: readonly string[]): void {
  for (const name of given.keys()) {
    if (given.getAll(name).length > 1) throw badRequest(400, `query parameter ${name} is given more than once`);
    if (known.includes(name)) continue;
    const hint = known.length === 0 ? 'it takes none' : `it takes ${known.join(', ')}`;
    throw badRequest(400, `there is no query parameter ${JSON.stringify(name)} here: ${hint}`);
  }
}

function split(url: string): [string, string] {
  const mark = url.indexOf('?');
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}
