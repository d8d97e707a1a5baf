/** Two coordinators that are asked the same, and have to answer the same. */
import assert from 'node:assert/strict';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import { isMillraceError } from '../../src/errors/millrace-error.ts';

/** The value, or what the refusal says. */
async function outcomeOf(coordinator: Coordinator, name: string, args: readonly unknown[]): Promise<unknown> {
  try {
    const method = Reflect.get(coordinator, name, coordinator) as (...args: readonly unknown[]) => Promise<unknown>;
    return { value: await Reflect.apply(method, coordinator, args) };
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return { code: error.code, message: error.message, details: error.details };
  }
}

/** Objects that began to wait in the same millisecond come in no particular order. */
function comparable(name: string, outcome: unknown): unknown {
  const { value } = outcome as { readonly value?: unknown };
  return name === 'objectsToDelete' && Array.isArray(value) ? [...(value as string[])].sort() : outcome;
}

/** What can be asked. */
type Question = {
  [Name in keyof Coordinator]: Coordinator[Name] extends (...args: never) => unknown ? Name : never;
}[keyof Coordinator];

/** Asks both and compares; the answer is the first one's. A refusal is returned, not thrown. */
export class CoordinatorPair {
  readonly #first: Coordinator;
  readonly #second: Coordinator;

  constructor(first: Coordinator, second: Coordinator) {
    this.#first = first;
    this.#second = second;
  }

  /** The value, or `undefined` for a refusal. */
  async ask<Name extends Question>(
    name: Name,
    ...args: Parameters<Coordinator[Name]>
  ): Promise<Awaited<ReturnType<Coordinator[Name]>> | undefined> {
    const first = await outcomeOf(this.#first, name, args);
    const second = await outcomeOf(this.#second, name, args);
    assert.deepEqual(comparable(name, second), comparable(name, first), `answers to ${name}(${JSON.stringify(args)})`);
    return (first as { readonly value?: Awaited<ReturnType<Coordinator[Name]>> }).value;
  }
}
