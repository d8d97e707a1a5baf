/** Arguments as typed values. What cannot be one is a usage error that says what can. */
import { InvalidArgumentError } from 'commander';
import { isMillraceError } from '../errors/millrace-error.ts';
import type { Compression } from '../record/stream-config.ts';
import { checkStreamName } from '../stream/name.ts';
import { checkReference } from '../stream/reference.ts';
import type { ReadFrom } from '../stream/read-options.ts';

const PLACES: ReadonlySet<string> = new Set(['first', 'last', 'next']);
const FROM_HELP = 'Use first, last, next, an offset such as 42, or @ and a time such as @2026-01-31T12:00:00Z.';
const PORT_MAX = 65_535;
const WHOLE = /^\d+$/;
const DURATION_UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const BYTE_UNITS = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

export function parseDirectory(text: string): string {
  if (text === '' || text.includes('\0')) throw new InvalidArgumentError('Use the path of a directory.');
  return text;
}

export function parseStreamName(text: string): string {
  checked(() => checkStreamName(text));
  return text;
}

/** Name of a consumer. */
export function parseReference(text: string): string {
  checked(() => checkReference(text));
  return text;
}

export interface StoredOffset {
  readonly reference: string;
  readonly offset: number;
}

/** A consumer, `=` and an offset. The last `=` counts: names may hold others. */
export function parseStoredOffset(text: string): StoredOffset {
  const equals = text.lastIndexOf('=');
  if (equals < 1) throw new InvalidArgumentError('Use a consumer, = and an offset, such as billing=41.');
  return { reference: parseReference(text.slice(0, equals)), offset: parseOffset(text.slice(equals + 1)) };
}

export function parseOffset(text: string): number {
  const offset = wholeNumber(text);
  if (offset === undefined) throw new InvalidArgumentError('An offset is a whole number from 0 on.');
  return offset;
}

export function parsePositive(text: string): number {
  const value = wholeNumber(text);
  if (value === undefined || value < 1) throw new InvalidArgumentError('Use a whole number from 1 on.');
  return value;
}

/** Milliseconds. */
export function parseDuration(text: string): number {
  return scaled(text, DURATION_UNITS, 'Use milliseconds from 1 on, or a number with ms, s, m, h or d, such as 7d.');
}

export function parseBytes(text: string): number {
  return scaled(text, BYTE_UNITS, 'Use bytes from 1 on, or a number with KiB, MiB, GiB or TiB, such as 10GiB.');
}

/** `first`, `last`, `next`, an offset, or `@` and milliseconds since the epoch or a date. */
export function parseFrom(text: string): ReadFrom {
  if (PLACES.has(text)) return text as ReadFrom;
  if (text.startsWith('@')) return { timestamp: parseTime(text.slice(1)) };
  const offset = wholeNumber(text);
  if (offset === undefined) throw new InvalidArgumentError(FROM_HELP);
  return offset;
}

export function parseLimit(text: string): number {
  const limit = wholeNumber(text);
  if (limit === undefined) throw new InvalidArgumentError('Use a whole number from 0 on.');
  return limit;
}

/** 0 stands for any that is free. */
export function parsePort(text: string): number {
  const port = wholeNumber(text);
  if (port === undefined || port > PORT_MAX) throw new InvalidArgumentError(`Use a whole number up to ${PORT_MAX}.`);
  return port;
}

export function parseCompression(text: string): Compression {
  if (text === 'lz4' || text === 'none') return text;
  throw new InvalidArgumentError('Use lz4 or none.');
}

/** Digits are milliseconds, as every `timestamp` that millrace prints; anything else is a date. */
function parseTime(text: string): number {
  const timestamp = wholeNumber(text) ?? Date.parse(text);
  if (Number.isNaN(timestamp)) throw new InvalidArgumentError(FROM_HELP);
  return timestamp;
}

function wholeNumber(text: string): number | undefined {
  const value = Number(text);
  return WHOLE.test(text) && Number.isSafeInteger(value) ? value : undefined;
}

/** A whole number, alone or with one of `units` behind it. */
function scaled(text: string, units: Readonly<Record<string, number>>, help: string): number {
  const unit = Object.keys(units).find((name) => WHOLE.test(text.slice(0, -name.length)) && text.endsWith(name));
  const count = wholeNumber(unit === undefined ? text : text.slice(0, -unit.length));
  const value = (count ?? 0) * (unit === undefined ? 1 : (units[unit] as number));
  if (value < 1 || !Number.isSafeInteger(value)) throw new InvalidArgumentError(help);
  return value;
}

/** What the library refuses is a usage error here. */
function checked(check: () => void): void {
  try {
    check();
  } catch (error) {
    throw isMillraceError(error) ? new InvalidArgumentError(sentence(error.message)) : error;
  }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
