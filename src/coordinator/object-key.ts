/**
 * Names of objects. The number comes from a persisted counter; the nonce is random, so that a store whose metadata was
 * restored from a backup, and counts again from an older number, still never makes a name twice.
 */
import { assert } from '../base/assert.ts';

/** Nonces are below 2^48: 12 hexadecimal digits. */
export const NONCE_BYTES = 6;
export const NONCE_LIMIT: number = 2 ** 48;

const NUMBER_DIGITS = 16;
const NONCE_DIGITS = 2 * NONCE_BYTES;
const PATTERN = /^segments\/([0-9]{16})-([0-9a-f]{12})\.seg$/;

/** `segments/0000000000000042-9f3c21ab04de.seg` */
export function formatObjectKey(number: number, nonce: number): string {
  assert(Number.isSafeInteger(number) && number > 0, 'object numbers count from 1');
  assert(Number.isSafeInteger(nonce) && nonce >= 0 && nonce < NONCE_LIMIT, 'a nonce has 48 bits');
  const digits = String(number).padStart(NUMBER_DIGITS, '0');
  return `segments/${digits}-${nonce.toString(16).padStart(NONCE_DIGITS, '0')}.seg`;
}

/** The parts of a key, or `undefined` for anything that is not one. */
export function parseObjectKey(key: string): { number: number; nonce: number } | undefined {
  const match = PATTERN.exec(key);
  if (match === null) return undefined;
  const number = Number(match[1]);
  if (!Number.isSafeInteger(number) || number === 0) return undefined;
  return { number, nonce: Number.parseInt(match[2] as string, 16) };
}
