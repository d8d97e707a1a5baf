/**
 * Checks of what callers hand in, of whatever type it is: each throws `ERR_MILLRACE_INVALID_ARGUMENT` that names the
 * argument and its range.
 */
import { MillraceError } from './millrace-error.ts';

export function optional(name: string, value: number | undefined, least: number, most: number): number | undefined {
  return value === undefined ? undefined : whole(name, value, least, least, most);
}

export function whole(name: string, value: number | undefined, fallback: number, least: number, most: number): number {
  if (value === undefined) return fallback;
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw invalid(`option ${name} is a whole number from ${least} to ${most}, not ${shown(value)}`);
  }
  return value;
}

export function flag(name: string, value: boolean | undefined): boolean {
  if (value === undefined) return false;
  if (typeof value !== 'boolean') throw invalid(`option ${name} is true or false`);
  return value;
}

/** Of another realm, too: `instanceof` would refuse those. */
export function checkSignal(signal: unknown): asserts signal is AbortSignal | undefined {
  if (signal === undefined) return;
  const isSignal = typeof signal === 'object' && signal !== null && 'aborted' in signal && 'addEventListener' in signal;
  if (!isSignal) throw invalid('option signal is an AbortSignal');
}

export function checkFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw invalid(`option ${name} is a function`);
}

/** What is opened later, such as an object store: `what` says which, and how to come by one. */
export function checkComponent(what: string, value: unknown): void {
  if (typeof (value as { readonly open?: unknown } | null | undefined)?.open !== 'function') throw invalid(what);
}

/** What all long work takes: `signal` ends it, and `progress` is told of it. */
export function checkProgress({ signal, progress }: { readonly signal?: unknown; readonly progress?: unknown }): void {
  checkSignal(signal);
  checkFunction('progress', progress);
}

/** A value of any type, for messages: turning symbols and some objects into text throws. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value);
    case 'bigint':
      return `${value}n`;
    case 'function':
      return 'a function';
    case 'object':
      return value === null ? 'null' : Array.isArray(value) ? 'an array' : 'an object';
    default:
      return String(value);
  }
}

/** The error for an argument that is wrong. */
export function invalid(message: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_INVALID_ARGUMENT', message);
}
