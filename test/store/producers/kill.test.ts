import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { SeededRandom } from '../../../src/base/random.ts';
import { open, type Store } from '../../../src/index.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { STREAMS } from './kill-report.ts';

const CHILD = join(import.meta.dirname, 'kill-process.js');
const ROUNDS = 4;
const WORK_MAX = 400;

/** By stream and offset, the beginning of the value that was acknowledged there. */
type Acknowledged = Map<string, Map<number, string>>;

/** Lets a process work, kills it, and notes what it had reported. */
async function workUntilKilled(dir: string, milliseconds: number, acknowledged: Acknowledged): Promise<void> {
  const child = spawn(process.execPath, [CHILD, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
  let [output, timer]: [string, NodeJS.Timeout | undefined] = ['', undefined];
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (text: string) => {
    output += text;
    timer ??= setTimeout(() => child.kill('SIGKILL'), milliseconds);
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
    child.once('close', (...ended) => {
      resolve(ended);
    });
  });
  assert.deepEqual([code, signal], [null, 'SIGKILL'], output.slice(-500));
  // The last line may be cut.
  for (const line of output.slice(0, output.lastIndexOf('\n')).split('\n')) {
    const [name = '', first = '', count = '', group = ''] = line.split(' ');
    if (group === '') continue;
    const offsets = acknowledged.get(name) ?? new Map<number, string>();
    acknowledged.set(name, offsets);
    for (let index = 0; index < Number(count); index += 1) {
      assert.equal(offsets.get(Number(first) + index), undefined, `${name} ${first}: acknowledged twice`);
      offsets.set(Number(first) + index, `${group}/${index}.`);
    }
  }
}

async function check(store: Store, acknowledged: Acknowledged): Promise<number> {
  let found = 0;
  for (const name of [...STREAMS, 'own']) {
    const left = new Map(acknowledged.get(name));
    let next = 0;
    for await (const { offset, value } of (await store.stream(name)).read()) {
      assert.equal(offset, next);
      next += 1;
      const expected = left.get(offset);
      left.delete(offset);
      if (expected !== undefined) assert.ok(String(value).startsWith(expected), `${name} ${offset}: ${String(value)}`);
      found += 1;
    }
    assert.equal(left.size, 0, `${name}: ${left.size} acknowledged records are missing`);
  }
  assert.deepEqual((await store.verify()).problems, []);
  return found;
}

test('kills at any moment lose nothing that any thread was told of, and every stream goes on', async () => {
  const directory = temporaryDirectory();
  const random = new SeededRandom(7);
  const acknowledged: Acknowledged = new Map();
  for (let round = 0; round < ROUNDS; round += 1) {
    await workUntilKilled(join(directory.path, 'store'), random.below(WORK_MAX), acknowledged);
    const store = await open({ dir: join(directory.path, 'store'), compaction: false });
    const found = await check(store, acknowledged);
    await store.close();
    assert.ok(found >= [...acknowledged.values()].reduce((sum, { size }) => sum + size, 0));
  }
  directory.remove();
});
