import { ERROR_CODES, type ErrorCode, type ErrorKind } from './codes.ts';

/** Marks errors across copies of the package, where `instanceof` fails. */
const BRAND = Symbol.for('millrace.error');

/** Facts behind an error (file, position, offsets), for logs and tools. */
export type ErrorDetails = Readonly<Record<string, string | number | boolean | null>>;

/**
 * The only error class of the public interface. Match on `code`; messages may change.
 */
export class MillraceError extends Error {
  /** Always `MillraceError`. */
  override readonly name = 'MillraceError';
  /** Which error it is: stable, the only thing to match on. */
  readonly code: ErrorCode;
  /** What the error means to the caller. */
  readonly kind: ErrorKind;
  /** Whether the same call may succeed later without any repair. */
  readonly retryable: boolean;
  /** The facts behind it. */
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, options: { details?: ErrorDetails; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.kind = ERROR_CODES[code].kind;
    this.retryable = ERROR_CODES[code].retryable;
    this.details = options.details ?? {};
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/** Whether `error` is a millrace error, from any copy of the package; with `code`, of that code. */
export function isMillraceError(error: unknown, code?: ErrorCode): error is MillraceError {
  if (typeof error !== 'object' || error === null || !(BRAND in error)) return false;
  return code === undefined || (error as { code?: unknown }).code === code;
}

/** A millrace error as plain data: errors that cross a thread lose their class on the way. */
export interface ErrorData {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: ErrorDetails;
  readonly cause: string | undefined;
}

/** Packs any error for another thread; one that is not ours becomes `fallback`. */
export function packError(error: unknown, fallback: ErrorCode): ErrorData {
  if (isMillraceError(error)) {
    const cause = error.cause === undefined ? undefined : String(error.cause);
    return { code: error.code, message: error.message, details: error.details, cause };
  }
  const message = error instanceof Error ? error.message : String(error);
  const cause = error instanceof Error ? error.stack : undefined;
  return { code: fallback, message, details: {}, cause };
}

/** The reverse of `packError`. */
export function unpackError(data: ErrorData): MillraceError {
  return new MillraceError(data.code, data.message, { details: data.details, cause: data.cause });
}
