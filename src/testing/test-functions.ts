/** What the contract suites need of a test runner: node:test offers it, and so do others. */
import { afterEach, beforeEach, describe, test } from 'node:test';

/** Functions of a test runner. Those of Vitest and Jest fit. */
export interface TestFunctions {
  /** Groups the tests that `body` declares. */
  readonly describe: (name: string, body: () => void) => unknown;
  /** Declares a test, which fails when `body` throws or rejects. */
  readonly test: (name: string, body: () => void | Promise<void>) => unknown;
  /** Runs `body` before every test of the group. */
  readonly beforeEach: (body: () => Promise<void>) => unknown;
  /** Runs `body` after every test of the group, also one that failed. */
  readonly afterEach: (body: () => Promise<void>) => unknown;
}

/** The default. */
export const nodeTest: TestFunctions = {
  describe: (name, body) => describe(name, body),
  test: (name, body) => test(name, body),
  beforeEach: (body) => beforeEach(body),
  afterEach: (body) => afterEach(body),
};
