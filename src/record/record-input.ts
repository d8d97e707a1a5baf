/** Records as callers hand them in. */
import { invalid, shown } from '../errors/argument-checks.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { checkOptionNames } from '../errors/option-names.ts';
import { KEY_BYTES_MAX } from '../limits/limits.ts';

/** A value: text goes in as UTF-8; `null` is a tombstone. */
export type RecordValue = string | Uint8Array | null;

/** What may be said of a record beside its value. */
export interface AppendOptions {
  /** Key for compaction and readers; text goes in as UTF-8. None by default. */
  readonly key?: string | Uint8Array | null;
  /** Milliseconds since the epoch. Default: now. */
  readonly timestamp?: number;
}

/** A record of `appendMany`: a bare value, or one with options. */
export type RecordInput =
  | RecordValue
  | ({
      /** The value; `null` is a tombstone. */
      readonly value: RecordValue;
    } & AppendOptions);

const APPEND_OPTIONS: ReadonlySet<string> = new Set(['key', 'timestamp', 'signal']);
/** What is read may be appended as it is: it gets an offset and an epoch of its own. */
const RECORD_FIELDS: ReadonlySet<string> = new Set(['value', 'key', 'timestamp', 'publishingId', 'offset', 'epoch']);

/** A UTF-16 unit takes at most three bytes: a bound that needs no pass over the text. */
const TEXT_BYTES_PER_UNIT = 3;
/** Above this, an exact count is worth its pass. */
const TEXT_EXACT_FROM = 4_096;

/** Room that a value needs: exact for bytes, an upper bound for short text. */
export function valueRoom(value: RecordValue): number {
  if (value === null) return 0;
  if (typeof value !== 'string') return value.length;
  if (value.length >= TEXT_EXACT_FROM) return Buffer.byteLength(value);
  return value.length * TEXT_BYTES_PER_UNIT;
}

/** The key as bytes; throws `ERR_MILLRACE_INVALID_ARGUMENT` or `ERR_MILLRACE_RECORD_TOO_LARGE`. */
export function keyBytes(key: string | Uint8Array | null | undefined): Uint8Array | null {
  if (key === null || key === undefined) return null;
  const bytes = typeof key === 'string' ? Buffer.from(key) : key;
  if (!(bytes instanceof Uint8Array)) throw invalid(`a key is a string, bytes, or null, not ${describe(key)}`);
  if (bytes.length > KEY_BYTES_MAX) {
    throw new MillraceError(
      'ERR_MILLRACE_RECORD_TOO_LARGE',
      `a key of ${bytes.length} bytes: at most ${KEY_BYTES_MAX}`,
    );
  }
  return bytes;
}

/** Checks the options of one append: a misspelt name must not lose a key in silence. */
export function checkAppendOptions(options: AppendOptions | undefined): void {
  if (options === undefined) return;
  if (typeof options !== 'object' || options === null) {
    throw invalid(`options of an append are an object such as { key: 'k' }, not ${describe(options)}`);
  }
  checkOptionNames(options, APPEND_OPTIONS, 'append');
}

/** What a caller passed, for messages. */
function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array: use appendMany for many records';
  if (typeof value === 'object' && 'value' in value) return 'a record: append(value, { key, timestamp })';
  return `${typeof value} (${shown(value)})`;
}

/** Checks a value's type, and the size of its record: key and value together. */
export function checkRecord(value: unknown, keyLength: number, maxRecordBytes: number): asserts value is RecordValue {
  let bytes = keyLength;
  if (typeof value === 'string') {
    bytes += keyLength + value.length * TEXT_BYTES_PER_UNIT > maxRecordBytes ? Buffer.byteLength(value) : 0;
  } else if (value instanceof Uint8Array) {
    bytes += value.length;
  } else if (value !== null) {
    throw invalid(`a value is a string, bytes, or null, not ${describe(value)}`);
  }
  if (bytes > maxRecordBytes) throw recordTooLarge(bytes, maxRecordBytes);
}

/** The error of a record with more bytes, key and value together, than the store takes. */
export function recordTooLarge(bytes: number, maxRecordBytes: number): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_RECORD_TOO_LARGE',
    `a record of ${bytes} bytes: the store takes at most ${maxRecordBytes} (option maxRecordBytes)`,
    { details: { bytes, maxRecordBytes } },
  );
}

/** Checks a timestamp that a caller set. */
export function checkTimestamp(timestamp: number): void {
  if (!Number.isSafeInteger(timestamp))
    throw invalid(`timestamp ${shown(timestamp)} is not a whole number of milliseconds`);
}

/** Checks what `appendMany` was given, its records aside. */
export function checkRecordList(records: unknown): asserts records is readonly RecordInput[] {
  if (!Array.isArray(records)) throw invalid('appendMany takes an array of records');
}

/** Checks that an input which is no bare value is an object with one. Its fields are those of records that are read. */
export function checkRecordObject(input: unknown): void {
  if (typeof input !== 'object') throw invalid('a record is a value, or an object with a value');
  checkOptionNames(input, RECORD_FIELDS, 'a record');
}

/** Whether an input is a bare value. */
export function isBareValue(input: RecordInput): input is RecordValue {
  return input === null || typeof input === 'string' || input instanceof Uint8Array;
}
