/** Processes that write to one shared store, and what they were told. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Store } from '../../src/index.ts';
import type { SharedWriterTask } from './shared-writer.ts';
import { collect } from './test-store.ts';

const PROGRAM = fileURLToPath(new URL('shared-writer.js', import.meta.url));

/** An acknowledged record. */
export interface Acknowledged {
  readonly stream: string;
  readonly value: string;
  readonly offset: number;
}

export class WriterProcess {
  readonly acknowledged: Acknowledged[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #done = false;

  constructor(task: SharedWriterTask) {
    this.#child = spawn(process.execPath, [PROGRAM, JSON.stringify(task)], { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = createInterface({ input: this.#child.stdout! });
    lines.on('line', (line) => {
      const [stream = '', index = '', offset = ''] = line.split(' ');
      if (line === 'done') this.#done = true;
      else this.acknowledged.push({ stream, value: `${task.name}:${index}`, offset: Number(offset) });
    });
    this.#ended = Promise.all([once(this.#child, 'exit'), once(lines, 'close')]);
  }

  /** Resolves when it has ended well. */
  async finish(): Promise<void> {
    await this.#ended;
    assert.ok(this.#done, 'the writer has appended everything');
  }

  /** Ends it at once, whatever it does, once it has been told of `count` records. */
  async killAfter(count: number): Promise<void> {
    while (this.acknowledged.length < count && this.#child.exitCode === null) await once(this.#child.stdout!, 'data');
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

/**
 * The values of a stream by offset. Checks that offsets are dense, that every acknowledged record lies where it was
 * said to lie, and that the records of each process are in the order in which it appended them, each once.
 */
export async function checkStream(store: Store, name: string, writers: readonly WriterProcess[]): Promise<string[]> {
  const records = await collect((await store.stream(name)).read());
  assert.deepEqual(
    records.map(({ offset }) => offset),
    Array.from(records.keys()),
    'offsets are dense',
  );
  const values = records.map(({ value }) => String(value));
  for (const { acknowledged } of writers) {
    for (const { stream, value, offset } of acknowledged) {
      if (stream === name) assert.equal(values[offset], value, 'an acknowledged record lies at its offset');
    }
  }
  const last = new Map<string, number>();
  for (const value of values) {
    const [writer = '', index = ''] = value.split(':');
    assert.equal(Number(index), (last.get(writer) ?? -1) + 1, `records of ${writer} come in order, each once`);
    last.set(writer, Number(index));
  }
  return values;
}
