/** Checks of single options: each throws `ERR_MILLRACE_INVALID_ARGUMENT` that names the option and its range. */
import { MillraceError } from '../errors/millrace-error.ts';

export function optional(name: string, value: number | undefined, least: number, most: number): number | undefined {
  return value === undefined ? undefined : whole(name, value, least, least, most);
}

export function whole(name: string, value: number | undefined, fallback: number, least: number, most: number): number {
  if (value === undefined) return fallback;
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw invalid(`option ${name} is a whole number from ${least} to ${most}, not ${String(value)}`);
  }
  return value;
}

export function flag(name: string, value: boolean | undefined): boolean {
  if (value === undefined) return false;
  if (typeof value !== 'boolean') throw invalid(`option ${name} is true or false`);
  return value;
}

/** The error for an option that is wrong. */
export function invalid(message: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_INVALID_ARGUMENT', message);
}
