/**
 * Every error millrace can raise on purpose. Codes are stable: match on `code`, never on the message.
 * `kind` groups them by what they mean to the caller; `retryable` says whether the same call may succeed later
 * without any repair.
 */

/** What an error means to the caller. */
export type ErrorKind =
  /** The call itself is wrong: change the arguments. */
  | 'invalid'
  /** What was named does not exist. */
  | 'not-found'
  /** A bound that protects the process was reached. */
  | 'limit'
  /** The store, stream or operation is no longer usable by choice: closed, deleted, aborted. */
  | 'closed'
  /** Somebody else holds it, or changed it meanwhile. */
  | 'conflict'
  /** The machine failed an operation: disk, network, thread. */
  | 'failed'
  /** Bytes are not what was written. */
  | 'corrupt';

export const ERROR_CODES = {
  /** An option or argument is missing, of the wrong type or out of its range. */
  ERR_MILLRACE_INVALID_ARGUMENT: { kind: 'invalid', retryable: false },
  /** A stream name is empty, too long, or holds characters that names may not have. */
  ERR_MILLRACE_INVALID_STREAM_NAME: { kind: 'invalid', retryable: false },
  /** A consumer or publisher reference is empty, too long, or holds control characters. */
  ERR_MILLRACE_INVALID_REFERENCE: { kind: 'invalid', retryable: false },
  /** An offset lies outside what the stream holds. */
  ERR_MILLRACE_OFFSET_OUT_OF_RANGE: { kind: 'invalid', retryable: false },
  /** The operation writes, and the store was opened with `readOnly`. */
  ERR_MILLRACE_READ_ONLY: { kind: 'invalid', retryable: false },
  /** The store's mode or a backend does not offer the operation. */
  ERR_MILLRACE_UNSUPPORTED: { kind: 'invalid', retryable: false },
  /** An HTTP request that the server does not take: its path, method, media type, host, origin or size. */
  ERR_MILLRACE_BAD_REQUEST: { kind: 'invalid', retryable: false },
  /** An HTTP request does not carry the token that the server asks for. */
  ERR_MILLRACE_UNAUTHORIZED: { kind: 'invalid', retryable: false },
  /** The stream does not exist, or was deleted. */
  ERR_MILLRACE_STREAM_NOT_FOUND: { kind: 'not-found', retryable: false },
  /** An object that the coordinator names is not in the object store. */
  ERR_MILLRACE_OBJECT_NOT_FOUND: { kind: 'not-found', retryable: false },
  /** There is no store in the directory, and the call may not create one. */
  ERR_MILLRACE_STORE_NOT_FOUND: { kind: 'not-found', retryable: false },
  /** The target holds no complete backup, or none of that number. */
  ERR_MILLRACE_BACKUP_NOT_FOUND: { kind: 'not-found', retryable: false },
  /** A record is larger than `maxRecordBytes`. */
  ERR_MILLRACE_RECORD_TOO_LARGE: { kind: 'limit', retryable: false },
  /** The ring is full and `maxQueuedBytes` of appends already wait for it. */
  ERR_MILLRACE_QUEUE_FULL: { kind: 'limit', retryable: true },
  /** A stream has reached its number of references or publishers. */
  ERR_MILLRACE_TOO_MANY_REFERENCES: { kind: 'limit', retryable: false },
  /** An HTTP server has as many requests of a kind under way as it takes at once. */
  ERR_MILLRACE_TOO_MANY_REQUESTS: { kind: 'limit', retryable: true },
  /** A store has reached its number of producers in other threads. */
  ERR_MILLRACE_TOO_MANY_PRODUCERS: { kind: 'limit', retryable: true },
  /** The store, or the producer, was closed. */
  ERR_MILLRACE_CLOSED: { kind: 'closed', retryable: false },
  /** The caller's `AbortSignal` ended the operation. */
  ERR_MILLRACE_ABORTED: { kind: 'closed', retryable: false },
  /** Another process, or another `open` in this one, has the store open for writing. */
  ERR_MILLRACE_LOCKED: { kind: 'conflict', retryable: true },
  /** The coordinator refused a change because what it was based on has changed. */
  ERR_MILLRACE_CONFLICT: { kind: 'conflict', retryable: true },
  /** An object with this key is already in the object store: keys are never used twice. */
  ERR_MILLRACE_OBJECT_EXISTS: { kind: 'conflict', retryable: false },
  /** A producer in another thread has the stream: one lane at a time takes its appends. */
  ERR_MILLRACE_STREAM_HELD: { kind: 'conflict', retryable: true },
  /** A stream was truncated below what a reader has already delivered. */
  ERR_MILLRACE_STREAM_TRUNCATED: { kind: 'conflict', retryable: false },
  /** A job's lease ended before its result was committed. */
  ERR_MILLRACE_LEASE_LOST: { kind: 'conflict', retryable: true },
  /** A write or sync failed. Appends are refused until the store is opened again; reads go on. */
  ERR_MILLRACE_WRITE_FAILED: { kind: 'failed', retryable: false },
  /** The disk or its quota is full. Appends are refused until the store is opened again; reads go on. */
  ERR_MILLRACE_DISK_FULL: { kind: 'failed', retryable: false },
  /** A read from disk or object store failed. */
  ERR_MILLRACE_READ_FAILED: { kind: 'failed', retryable: true },
  /** The directory cannot be used: not a directory, no permission, or not a millrace store. */
  ERR_MILLRACE_DIRECTORY_UNUSABLE: { kind: 'failed', retryable: false },
  /** A worker thread ended unexpectedly. */
  ERR_MILLRACE_WORKER_DIED: { kind: 'failed', retryable: false },
  /** A remote service (object store, database) cannot be reached, or is overloaded. */
  ERR_MILLRACE_UNAVAILABLE: { kind: 'failed', retryable: true },
  /** A remote service refuses for good: wrong credentials, no permission, no such bucket or database. */
  ERR_MILLRACE_REFUSED: { kind: 'failed', retryable: false },
  /** A frame does not continue its stream where the last one ended. */
  ERR_MILLRACE_WAL_GAP: { kind: 'corrupt', retryable: false },
  /** A WAL slot file is damaged before the end of what was acknowledged. */
  ERR_MILLRACE_WAL_CORRUPT: { kind: 'corrupt', retryable: false },
  /** A segment or object is damaged. */
  ERR_MILLRACE_SEGMENT_CORRUPT: { kind: 'corrupt', retryable: false },
  /** The manifest log or its snapshot is damaged. */
  ERR_MILLRACE_MANIFEST_CORRUPT: { kind: 'corrupt', retryable: false },
  /** A file belongs to another store. */
  ERR_MILLRACE_FOREIGN_FILE: { kind: 'corrupt', retryable: false },
  /** A file was written by a newer version of millrace. */
  ERR_MILLRACE_FORMAT_TOO_NEW: { kind: 'corrupt', retryable: false },
} as const;

/** A stable error code. */
export type ErrorCode = keyof typeof ERROR_CODES;
