/**
 * What an answer of S3, or the lack of one, means. Only a name, a status and a redacted message go on: the SDK's errors
 * carry what the server sent, and some servers send the access key and the text that was signed.
 */
import { isMillraceError, MillraceError, type ErrorDetails } from '../../errors/millrace-error.ts';
import type { ErrorCode } from '../../errors/codes.ts';

/** The parts of an SDK or network error that are read; any may be absent. */
interface RemoteError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: unknown; readonly requestId?: unknown };
}

export interface FailedRequest {
  /** The request in S3's words, such as `PutObject`. */
  readonly operation: string;
  readonly key: string | undefined;
  /** Bucket and endpoint, without credentials. */
  readonly place: string;
  /** Whatever must not show up in a message. */
  readonly secrets: readonly string[];
}

/** Names that say more than their status. */
const CODE_BY_NAME: Readonly<Record<string, ErrorCode>> = {
  NoSuchKey: 'ERR_MILLRACE_OBJECT_NOT_FOUND',
  NotFound: 'ERR_MILLRACE_OBJECT_NOT_FOUND',
  NoSuchBucket: 'ERR_MILLRACE_REFUSED',
  PreconditionFailed: 'ERR_MILLRACE_OBJECT_EXISTS',
  // Two writers of one key at once: one of them has won by the next attempt.
  ConditionalRequestConflict: 'ERR_MILLRACE_UNAVAILABLE',
  OperationAborted: 'ERR_MILLRACE_UNAVAILABLE',
  // The server read less than was announced, or something else: the bytes changed on the way.
  RequestTimeout: 'ERR_MILLRACE_UNAVAILABLE',
  IncompleteBody: 'ERR_MILLRACE_UNAVAILABLE',
  BadDigest: 'ERR_MILLRACE_UNAVAILABLE',
  SlowDown: 'ERR_MILLRACE_UNAVAILABLE',
  NotImplemented: 'ERR_MILLRACE_UNSUPPORTED',
  NoSuchUpload: 'ERR_MILLRACE_WRITE_FAILED',
  CredentialsProviderError: 'ERR_MILLRACE_REFUSED',
};

/** The coded form of a failed request. Errors that are coded already stay what they are. */
export function s3Error(error: unknown, request: FailedRequest): MillraceError {
  if (isMillraceError(error)) return error;
  const remote = (typeof error === 'object' && error !== null ? error : {}) as RemoteError;
  const status = statusOf(error);
  const name = errorName(error);
  const code = CODE_BY_NAME[name] ?? codeByStatus(status);
  const { operation, key, place } = request;
  const requestId = remote.$metadata?.requestId;
  const details: ErrorDetails = {
    operation,
    reason: name,
    ...(key === undefined ? {} : { key }),
    ...(status === undefined ? {} : { status }),
    ...(typeof requestId === 'string' ? { requestId } : {}),
  };
  // The answer to HEAD has no body that would say more than its status.
  const answer = status === undefined ? name : `${name === 'Unknown' ? '' : `${name}, `}HTTP ${status}`;
  const what = key === undefined ? operation : `${operation} of ${key}`;
  const message = `${what} at ${place} failed: ${answer}${remedy(code, name)}`;
  return new MillraceError(code, message, { details, cause: redactedCause(remote, name, request.secrets) });
}

/** The HTTP status behind an error; `undefined` when no answer came. */
export function statusOf(error: unknown): number | undefined {
  const status = (error as RemoteError | undefined)?.$metadata?.httpStatusCode;
  return typeof status === 'number' ? status : undefined;
}

/** S3's name of an error, or the system's code of one that S3 never answered. */
export function errorName(error: unknown): string {
  const { name, code } = (typeof error === 'object' && error !== null ? error : {}) as RemoteError;
  if (typeof code === 'string' && /^E[A-Z_0-9]+$/.test(code)) return code;
  return typeof name === 'string' && /^[\w.]{1,80}$/.test(name) ? name : 'UnknownError';
}

function codeByStatus(status: number | undefined): ErrorCode {
  // No answer: refused, reset, timed out, unknown host. The network may come back.
  if (status === undefined) return 'ERR_MILLRACE_UNAVAILABLE';
  if (status === 404) return 'ERR_MILLRACE_OBJECT_NOT_FOUND';
  if (status === 412) return 'ERR_MILLRACE_OBJECT_EXISTS';
  if (status === 501) return 'ERR_MILLRACE_UNSUPPORTED';
  // An answer of 2xx that could not be read was cut short.
  const isPassing = status < 300 || status === 408 || status === 409 || status === 429 || status >= 500;
  return isPassing ? 'ERR_MILLRACE_UNAVAILABLE' : 'ERR_MILLRACE_REFUSED';
}

function remedy(code: ErrorCode, name: string): string {
  if (name === 'NoSuchBucket') return '; create the bucket, or correct its name';
  if (name === 'RequestTimeTooSkewed') return '; set the clock of this machine';
  if (code === 'ERR_MILLRACE_REFUSED') return '; check credentials, permissions, region and bucket';
  if (code === 'ERR_MILLRACE_UNSUPPORTED') return '; the server lacks it: try conditionalWrites: false';
  return '';
}

function redactedCause(remote: RemoteError, name: string, secrets: readonly string[]): Error {
  let message = typeof remote.message === 'string' ? remote.message : name;
  for (const secret of secrets) message = message.replaceAll(secret, '[redacted]');
  const cause = new Error(message);
  cause.name = name;
  return cause;
}
