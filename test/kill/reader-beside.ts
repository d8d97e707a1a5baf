/** Reads a store from outside while the process that writes to it is killed: what was read once must be there. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMillraceError, open, type Store } from '../../src/index.ts';
import type { Content } from './expectation.ts';

const PAUSE = 10;

export class ReaderBeside {
  readonly #dir: string;
  readonly #seen = new Map<string, Map<number, string>>();
  #stopped = false;
  #running: Promise<void> = Promise.resolve();

  private constructor(dir: string) {
    this.#dir = dir;
  }

  static start(dir: string): ReaderBeside {
    const reader = new ReaderBeside(dir);
    reader.#running = reader.#run();
    // An error is met in `stop`; the process that writes goes on until then.
    reader.#running.catch(() => undefined);
    return reader;
  }

  /** Ends the reading, after one more look at everything. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  /** What was read is in the store, as it was read; nothing was trimmed. */
  check(found: ReadonlyMap<string, Content>): void {
    for (const [name, values] of this.#seen) {
      const content = found.get(name) ?? [];
      for (const [offset, value] of values) {
        assert.equal(content[offset]?.value, value, `${name}: a reader beside has seen ${offset}`);
      }
    }
  }

  async #run(): Promise<void> {
    const store = await this.#open();
    if (store === undefined) return;
    try {
      for (let last = this.#stopped; ; last = this.#stopped) {
        for (const { name } of await store.streams()) await this.#read(store, name);
        if (last) return;
        await sleep(PAUSE);
      }
    } finally {
      await store.close();
    }
  }

  /** `undefined` when there was no store until the end. */
  async #open(): Promise<Store | undefined> {
    for (;;) {
      try {
        return await open({ dir: this.#dir, readOnly: true });
      } catch (error) {
        if (!isMillraceError(error, 'ERR_MILLRACE_STORE_NOT_FOUND')) throw error;
      }
      if (this.#stopped) return undefined;
      await sleep(PAUSE);
    }
  }

  async #read(store: Store, name: string): Promise<void> {
    let values = this.#seen.get(name);
    if (values === undefined) {
      values = new Map();
      this.#seen.set(name, values);
    }
    for await (const { offset, value } of (await store.stream(name)).read()) {
      const text = value?.toString() ?? '';
      assert.equal(text, values.get(offset) ?? text, `${name}: ${offset} has changed under a reader`);
      values.set(offset, text);
    }
  }
}
