/** A record whose key is a field of the JSON object that its value is. */
import { MillraceError } from '../errors/millrace-error.ts';
import type { RecordInput } from '../record/record-input.ts';

/** `line` is the number of the line, from 1, for errors. The value stays as it was read, byte for byte. */
export function keyedRecord(value: Buffer, field: string, line: number): RecordInput {
  return { value, key: keyOf(parse(value, line), field, line) };
}

function parse(value: Buffer, line: number): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(value.toString());
  } catch (error) {
    throw refuse(line, `it is not JSON (${error instanceof Error ? error.message : String(error)})`);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw refuse(line, 'it is no JSON object');
  return parsed;
}

function keyOf(parsed: object, field: string, line: number): string {
  // Own fields only: every object inherits a `constructor`.
  const key: unknown = Object.hasOwn(parsed, field) ? (parsed as Record<string, unknown>)[field] : undefined;
  if (typeof key === 'string') return key;
  if (typeof key === 'number' || typeof key === 'boolean') return String(key);
  const found = key === undefined ? 'is missing' : `is ${key === null ? 'null' : 'a list or an object'}`;
  const needed = 'the key is a string, a number or a boolean';
  throw refuse(line, `field ${JSON.stringify(field)} ${found}: ${needed}`);
}

function refuse(line: number, problem: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_INVALID_ARGUMENT', `line ${line}: ${problem}`, {
    details: { line },
  });
}
