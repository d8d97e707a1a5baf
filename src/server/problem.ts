/** Errors as HTTP answers them: a status, and problem details (RFC 9457) that carry the error's code. */
import { STATUS_CODES } from 'node:http';
import type { ErrorCode } from '../errors/codes.ts';
import { type ErrorDetails, isMillraceError, MillraceError } from '../errors/millrace-error.ts';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

const RETRY_AFTER_SECONDS = '1';

/** What each error means to a client. */
const STATUS: Readonly<Record<ErrorCode, number>> = {
  ERR_MILLRACE_INVALID_ARGUMENT: 400,
  ERR_MILLRACE_INVALID_STREAM_NAME: 400,
  ERR_MILLRACE_INVALID_REFERENCE: 400,
  ERR_MILLRACE_BAD_REQUEST: 400,
  ERR_MILLRACE_UNAUTHORIZED: 401,
  ERR_MILLRACE_READ_ONLY: 403,
  ERR_MILLRACE_STREAM_NOT_FOUND: 404,
  ERR_MILLRACE_CONFLICT: 409,
  ERR_MILLRACE_STREAM_TRUNCATED: 409,
  ERR_MILLRACE_TOO_MANY_REFERENCES: 409,
  ERR_MILLRACE_STREAM_HELD: 409,
  ERR_MILLRACE_TOO_MANY_PRODUCERS: 503,
  ERR_MILLRACE_RECORD_TOO_LARGE: 413,
  ERR_MILLRACE_OFFSET_OUT_OF_RANGE: 416,
  ERR_MILLRACE_TOO_MANY_REQUESTS: 429,
  ERR_MILLRACE_UNSUPPORTED: 501,
  ERR_MILLRACE_REFUSED: 502,
  ERR_MILLRACE_UNAVAILABLE: 503,
  ERR_MILLRACE_QUEUE_FULL: 503,
  ERR_MILLRACE_CLOSED: 503,
  ERR_MILLRACE_ABORTED: 503,
  ERR_MILLRACE_LOCKED: 503,
  ERR_MILLRACE_LEASE_LOST: 503,
  ERR_MILLRACE_READ_FAILED: 503,
  ERR_MILLRACE_DISK_FULL: 507,
  ERR_MILLRACE_WRITE_FAILED: 500,
  ERR_MILLRACE_WORKER_DIED: 500,
  ERR_MILLRACE_DIRECTORY_UNUSABLE: 500,
  ERR_MILLRACE_STORE_NOT_FOUND: 500,
  ERR_MILLRACE_BACKUP_NOT_FOUND: 404,
  ERR_MILLRACE_OBJECT_NOT_FOUND: 500,
  ERR_MILLRACE_OBJECT_EXISTS: 500,
  ERR_MILLRACE_WAL_GAP: 500,
  ERR_MILLRACE_WAL_CORRUPT: 500,
  ERR_MILLRACE_SEGMENT_CORRUPT: 500,
  ERR_MILLRACE_MANIFEST_CORRUPT: 500,
  ERR_MILLRACE_FOREIGN_FILE: 500,
  ERR_MILLRACE_FORMAT_TOO_NEW: 500,
};

/** An error whose status is not the one of its code. */
export class HttpError extends MillraceError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: ErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(code, message);
    this.status = status;
    this.headers = headers;
  }
}

/** A request that HTTP itself, and nothing of millrace, is wrong with. */
export function badRequest(status: number, message: string, headers?: Readonly<Record<string, string>>): HttpError {
  return new HttpError(status, 'ERR_MILLRACE_BAD_REQUEST', message, headers);
}

export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly code: ErrorCode | 'INTERNAL';
  readonly detail: string;
  readonly retryable: boolean;
  readonly details: ErrorDetails;
}

/** `headers` go with the answer. Nothing of an unexpected error but its being one leaves the process. */
export function problemOf(error: unknown): { problem: Problem; headers: Readonly<Record<string, string>> } {
  if (!isMillraceError(error)) {
    const detail = 'this is a bug: the log of the server has more';
    return {
      problem: describe(500, { code: 'INTERNAL', message: detail, retryable: false, details: {} }),
      headers: {},
    };
  }
  const known = error instanceof HttpError ? error : { status: STATUS[error.code], headers: {} };
  const retry = error.retryable && known.status >= 429 ? { 'retry-after': RETRY_AFTER_SECONDS } : {};
  return { problem: describe(known.status, error), headers: { ...retry, ...known.headers } };
}

function describe(
  status: number,
  error: Pick<MillraceError, 'message' | 'retryable' | 'details'> & { readonly code: Problem['code'] },
): Problem {
  const { code, message, retryable, details } = error;
  return { status, title: STATUS_CODES[status] ?? 'Error', code, detail: message, retryable, details };
}
