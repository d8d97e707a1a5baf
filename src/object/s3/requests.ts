/**
 * Sends requests to one bucket: one place for attempts, timeouts, error codes and counters. The SDK's own retries are
 * off: they would multiply with these, and they know neither our clock nor our signal.
 */
import { throwIfAborted } from '../../errors/aborted.ts';
import type { S3Client } from '@aws-sdk/client-s3';
import { isMillraceError, MillraceError } from '../../errors/millrace-error.ts';
import { RequestCounts } from '../request-tally.ts';
import { retry, type RetryEnvironment, type RetryPolicy } from '../retry.ts';
import { s3Error } from './s3-errors.ts';

/** One request. The command is built inside, anew for each attempt. */
export interface S3Request<T> {
  /** In S3's words, such as `PutObject`. */
  readonly operation: string;
  readonly key?: string;
  /** Ends the request and its attempts. */
  readonly signal?: AbortSignal | undefined;
  readonly send: (client: S3Client, signal: AbortSignal, attempt: number) => Promise<T>;
}

export interface S3RequestsOptions {
  readonly client: S3Client;
  readonly bucket: string;
  readonly prefix: string;
  /** Bucket and endpoint for messages. */
  readonly place: string;
  readonly secrets: readonly string[];
  readonly policy: RetryPolicy;
  readonly environment: RetryEnvironment;
  readonly requestTimeout: number;
}

export class S3Requests {
  readonly counters: RequestCounts = new RequestCounts();
  readonly bucket: string;
  readonly place: string;
  readonly policy: RetryPolicy;
  readonly environment: RetryEnvironment;
  readonly requestTimeout: number;
  readonly #options: S3RequestsOptions;
  #isClosed = false;

  constructor(options: S3RequestsOptions) {
    this.#options = options;
    this.bucket = options.bucket;
    this.place = options.place;
    this.policy = options.policy;
    this.environment = options.environment;
    this.requestTimeout = options.requestTimeout;
  }

  /** The key as S3 knows it. */
  remoteKey(key: string): string {
    return this.#options.prefix + key;
  }

  /** The reverse of `remoteKey`; `undefined` for a key outside the prefix. */
  localKey(remoteKey: string): string | undefined {
    const { prefix } = this.#options;
    return remoteKey.startsWith(prefix) ? remoteKey.slice(prefix.length) : undefined;
  }

  /** Sends until it is answered or the policy is used up. Rejects with a coded error. */
  send<T>(request: S3Request<T>): Promise<T> {
    return retry((attempt) => this.once(request, attempt), this.policy, this.environment, request.signal);
  }

  /** Sends once. */
  async once<T>(request: S3Request<T>, attempt = 0): Promise<T> {
    throwIfAborted(request.signal);
    // What was under way when the store was closed is not tried again.
    if (this.#isClosed) throw new MillraceError('ERR_MILLRACE_CLOSED', 'the object store was closed');
    this.counters.sent(request.operation);
    try {
      return await this.#withTimeout(request, attempt);
    } catch (error) {
      throw this.failed(request.operation, request.key, error);
    }
  }

  /** Counts the failure of a request, and returns what its caller is told. */
  failed(operation: string, key: string | undefined, error: unknown): MillraceError {
    const { place, secrets } = this.#options;
    const coded = s3Error(error, { operation, key, place, secrets });
    this.counters.failed(operation, coded.code);
    return coded;
  }

  close(): void {
    this.#isClosed = true;
    this.#options.client.destroy();
  }

  /**
   * The time bounds the whole request, body included: a server that stops in the middle of a body is as good as gone.
   */
  async #withTimeout<T>(request: S3Request<T>, attempt: number): Promise<T> {
    const { client, requestTimeout, place } = this.#options;
    const controller = new AbortController();
    const stop = (): void => controller.abort();
    const timer = setTimeout(stop, requestTimeout);
    request.signal?.addEventListener('abort', stop, { once: true });
    try {
      return await request.send(client, controller.signal, attempt);
    } catch (error) {
      throwIfAborted(request.signal);
      if (!controller.signal.aborted || isMillraceError(error)) throw error;
      throw new MillraceError(
        'ERR_MILLRACE_UNAVAILABLE',
        `${request.operation} at ${place} was not answered within ${requestTimeout} ms`,
        { details: { operation: request.operation } },
      );
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', stop);
    }
  }
}
