/** What the contract suites need of a test runner: node:test offers it, and so do others. */
import { afterEach, beforeEach, describe, test } from 'node:test';

/** Functions of a test runner. Those of Vitest and Jest fit. */
export interface TestFunctions {
  /** Groups the tests that `body` declares. */
  readonly describe: (name: string, body: () => void) => unknown;
  readonly test: (name: string, body: () => void | Promise<void>) => unknown;
  /** Around every test of the group. */
  readonly beforeEach: (body: () => Promise<void>) => unknown;
  readonly afterEach: (body: () => Promise<void>) => unknown;
}

/** The default. */
export const nodeTest: TestFunctions = {
  describe: (name, body) => describe(name, body),
  test: (name, body) => test(name, body),
  beforeEach: (body) => beforeEach(body),
  afterEach: (body) => afterEach(body),
};
