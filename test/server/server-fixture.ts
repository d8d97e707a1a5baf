/** A store that is served, and a client that holds every answer against the OpenAPI file. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { OpenOptions, Store } from '../../src/index.ts';
import { serve, type ServeOptions, type StoreServer } from '../../src/server.ts';
import { atEnd } from '../support/at-end.ts';
import { StoreFolder } from '../support/test-store.ts';

export interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly $ref: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Record<string, unknown> }>>;
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const OPENAPI_FILE: string = join(import.meta.dirname, '..', '..', 'src', 'server', 'openapi.json');

export const OPENAPI: OpenApi = JSON.parse(readFileSync(OPENAPI_FILE, 'utf8')) as OpenApi;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  readonly bytes: Buffer;
  /** Of a problem. */
  readonly code: unknown;
  json<T = Record<string, unknown>>(): T;
}

export interface Ask {
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as lines of JSON. */
  readonly lines?: readonly unknown[];
}

export class ServedStore {
  store: Store;
  server: StoreServer;
  readonly folder: StoreFolder;
  readonly #options: ServeOptions;

  constructor(folder: StoreFolder, options: ServeOptions, store: Store, server: StoreServer) {
    this.folder = folder;
    this.#options = options;
    this.store = store;
    this.server = server;
  }

  /** Closes server and store, and opens both again. */
  async reopen(): Promise<void> {
    await this.server.close();
    await this.store.close();
    this.store = await this.folder.open();
    this.server = await serve(this.store, this.#options);
  }

  /** Starts a request; the caller ends it. */
  start(method: string, path: string, headers: OutgoingHttpHeaders = {}): ClientRequest {
    return httpRequest(this.server.url, { method, path, headers, agent: false });
  }

  async ask(method: string, path: string, { headers = {}, body, json, lines }: Ask = {}): Promise<Answer> {
    const type = json === undefined ? lines && 'application/x-ndjson' : 'application/json';
    const request = this.start(method, path, { ...(type === undefined ? {} : { 'content-type': type }), ...headers });
    const answer = answerOf(request);
    request.end(
      json === undefined ? (lines?.map((line) => `${JSON.stringify(line)}\n`).join('') ?? body) : JSON.stringify(json),
    );
    const given = await answer;
    checkDocumented(method, path, given);
    return given;
  }

  get(path: string, headers: OutgoingHttpHeaders = {}): Promise<Answer> {
    return this.ask('GET', path, { headers });
  }

  /** The records of a stream by their lines. */
  async read(path: string): Promise<Record<string, unknown>[]> {
    const { status, text } = await this.get(path);
    assert.equal(status, 200, text);
    return linesOf(text);
  }
}

export function linesOf(text: string): Record<string, unknown>[] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

export async function served(
  t: TestContext,
  options: ServeOptions = {},
  storeOptions: Partial<OpenOptions> = {},
): Promise<ServedStore> {
  const folder = new StoreFolder(t);
  const store = await folder.open(storeOptions);
  const settings = { port: 0, shutdownGrace: 2_000, ...options };
  const client = new ServedStore(folder, settings, store, await serve(store, settings));
  atEnd(t, () => client.server.close());
  return client;
}

/** Resolves with the whole answer; rejects when it breaks off. */
export async function answerOf(request: ClientRequest): Promise<Answer> {
  const response = await responseOf(request);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString();
  const isJson = /json$/.test(response.headers['content-type'] ?? '') && text !== '';
  const code = isJson && response.statusCode !== 200 ? (JSON.parse(text) as { code?: unknown }).code : undefined;
  const { statusCode: status = 0, headers } = response;
  return { status, headers, text, bytes, code, json: <T>() => JSON.parse(text) as T };
}

export function responseOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', reject);
  });
}

/** The operation that a request means; `undefined` for what there is none for. */
function operationOf(method: string, path: string): Operation | undefined {
  const segments = (path.split('?')[0] ?? '').split('/');
  for (const [pattern, operations] of Object.entries(OPENAPI.paths)) {
    const parts = pattern.split('/');
    const fits =
      parts.length === segments.length && parts.every((part, at) => /^\{/.test(part) || part === segments[at]);
    // Whatever a GET answers, a HEAD answers without the body.
    if (fits) return operations[(method === 'HEAD' ? 'GET' : method).toLowerCase()];
  }
  return undefined;
}

function checkDocumented(method: string, path: string, { status, headers, text }: Answer): void {
  const operation = operationOf(method, path);
  if (operation === undefined) return;
  const response = operation.responses[String(status)];
  assert.ok(response !== undefined, `${operation.operationId} does not document ${status}: ${text}`);
  const type = headers['content-type']?.split(';')[0];
  const types = response.$ref === undefined ? Object.keys(response.content ?? {}) : ['application/problem+json'];
  if (type !== undefined && text !== '') assert.ok(types.includes(type), `${operation.operationId} ${status}: ${type}`);
}
