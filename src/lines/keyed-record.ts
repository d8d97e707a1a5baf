/**
 * A record whose key is a field of the JSON object that its value is. Two keys are equal only where the fields say the
 * same: what reading JSON would round or replace is refused, or one record would take the place of another.
 */
import { isUtf8 } from 'node:buffer';
import { MillraceError } from '../errors/millrace-error.ts';
import { isExactNumber } from './exact-number.ts';

interface KeyedRecord {
  readonly value: Buffer;
  readonly key: string;
}

/** `line` is the number of the line, from 1, for errors. The value stays as it was read, byte for byte. */
export function keyedRecord(value: Buffer, field: string, line: number): KeyedRecord {
  if (!isUtf8(value)) throw refuse(line, 'it is not UTF-8');
  const text = value.toString();
  return { value, key: keyOf(parse(text, line), text, field, line) };
}

function parse(text: string, line: number): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw refuse(line, `it is not JSON (${error instanceof Error ? error.message : String(error)})`);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw refuse(line, 'it is no JSON object');
  return parsed;
}

function keyOf(parsed: object, text: string, field: string, line: number): string {
  // Own fields only: every object inherits a `constructor`.
  const key: unknown = Object.hasOwn(parsed, field) ? (parsed as Record<string, unknown>)[field] : undefined;
  const problem = problemOf(key, text);
  if (problem !== undefined) throw refuse(line, `field ${JSON.stringify(field)} ${problem}`);
  return String(key);
}

function problemOf(key: unknown, text: string): string | undefined {
  if (typeof key === 'boolean') return undefined;
  if (typeof key === 'string') {
    return key.isWellFormed() ? undefined : 'holds half of a surrogate pair, which UTF-8 cannot say';
  }
  if (typeof key === 'number') {
    // Also those beyond 2^53 that happen to be exact: their neighbours are not.
    const isExact = (Number.isSafeInteger(key) || !Number.isInteger(key)) && isExactNumber(key, text);
    return isExact ? undefined : 'is a number that would be rounded: make it a string';
  }
  const found = key === undefined ? 'is missing' : `is ${key === null ? 'null' : 'a list or an object'}`;
  return `${found}: the key is a string, a number or a boolean`;
}

function refuse(line: number, problem: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_INVALID_ARGUMENT', `line ${line}: ${problem}`, {
    details: { line },
  });
}
