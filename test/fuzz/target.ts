/** What a fuzzer feeds: one decoder, with inputs that are right, and the knowledge of what they are made of. */
import assert from 'node:assert/strict';
import { isMillraceError } from '../../src/errors/millrace-error.ts';
import { DAMAGE_CODES } from '../support/damage-codes.ts';
import type { Field } from './edits.ts';

export interface Target {
  readonly name: string;
  /** Intact inputs. */
  readonly samples: readonly Uint8Array[];
  /** Where something is decided. */
  readonly fieldsOf: (bytes: Uint8Array) => readonly Field[];
  /** Makes checksums right again, so that what lies behind them is reached. */
  readonly repair: (bytes: Uint8Array) => void;
  /** Decodes. Throws only what is a finding. */
  readonly run: (bytes: Uint8Array) => Promise<void> | void;
  /** Releases what running it took. */
  readonly close?: () => Promise<void>;
}

/** Holds that an error is a refusal of the input and nothing worse. */
export function assertRefusal(error: unknown): void {
  if (!isMillraceError(error)) throw error;
  assert.ok(DAMAGE_CODES.includes(error.code), `${error.code} is no refusal of an input: ${error.message}`);
}

/** Runs a decoder; `undefined` when it refused. */
export function decoded<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch (error) {
    assertRefusal(error);
    return undefined;
  }
}

export async function decodedAsync<T>(decode: () => Promise<T>): Promise<T | undefined> {
  try {
    return await decode();
  } catch (error) {
    assertRefusal(error);
    return undefined;
  }
}
