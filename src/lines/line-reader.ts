/**
 * Records as lines of a request: objects as reads give them, so that what was read can be appended again; or values as
 * they are.
 */
import { isUtf8 } from 'node:buffer';
import { MillraceError } from '../errors/millrace-error.ts';
import type { RecordInput } from '../record/record-input.ts';
import { keyedRecord } from './keyed-record.ts';

/** What a line is. */
export type LineFormat =
  /** An object with `value`, and maybe `key` and `timestamp`. */
  | 'records'
  /** The value itself. */
  | 'lines';

const NAMES: ReadonlySet<string> = new Set(['value', 'key', 'timestamp', 'offset']);
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const CARRIAGE_RETURN = 13;

/** How lines become records. */
export interface LineReader {
  /** The record of a line; `undefined` for one that holds none. `line` is its number, from 1, for errors. */
  readonly record: (bytes: Buffer, line: number) => RecordInput | undefined;
  /** Whether records are views of their lines, whose memory must stay then. */
  readonly views: boolean;
}

const RECORDS: LineReader = { record: recordOf, views: false };

/**
 * `keyField`: take the key from this field of the JSON object that the value is. `undefined` when lines are values as
 * they are, and need no reader.
 */
export function lineReader(format: LineFormat, keyField: string | undefined): LineReader | undefined {
  if (format === 'records') return RECORDS;
  if (keyField === undefined) return undefined;
  return { record: (bytes, line) => keyedRecord(bytes, keyField, line), views: true };
}

function recordOf(bytes: Buffer, line: number): RecordInput | undefined {
  const end = bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length;
  if (end === 0) return undefined;
  if (!isUtf8(bytes)) throw refuse(line, 'it is not UTF-8');
  const parsed = parse(bytes.toString('utf8', 0, end), line);
  for (const name of Object.keys(parsed)) {
    if (!NAMES.has(name))
      throw refuse(line, `it has a field ${JSON.stringify(name)}: value, key and timestamp are known`);
  }
  const { value, key, timestamp } = parsed;
  if (value === undefined) throw refuse(line, 'it has no value: null makes a tombstone');
  if (timestamp !== undefined && !Number.isSafeInteger(timestamp)) {
    throw refuse(line, 'its timestamp is not a whole number of milliseconds');
  }
  return {
    value: contentOf(value, 'value', line),
    ...(key === undefined ? {} : { key: contentOf(key, 'key', line) }),
    ...(timestamp === undefined ? {} : { timestamp: timestamp as number }),
  };
}

function parse(text: string, line: number): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw refuse(line, `it is not JSON (${error instanceof Error ? error.message : String(error)})`);
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as Record<string, unknown>;
  throw refuse(line, 'it is no JSON object such as {"value":"text"}; format=lines takes lines as they are');
}

/** Text, nothing, or bytes in base64. */
function contentOf(content: unknown, name: string, line: number): string | Buffer | null {
  if (content === null) return null;
  if (typeof content === 'string') {
    if (content.isWellFormed()) return content;
    throw refuse(line, `its ${name} holds half of a surrogate pair, which UTF-8 cannot say`);
  }
  const base64 = typeof content === 'object' && 'base64' in content ? content.base64 : undefined;
  if (typeof base64 === 'string' && BASE64.test(base64)) return Buffer.from(base64, 'base64');
  throw refuse(line, `its ${name} is not text, null, or {"base64":"..."}; format=lines takes lines as they are`);
}

function refuse(line: number, problem: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_INVALID_ARGUMENT', `line ${line}: ${problem}`, { details: { line } });
}
