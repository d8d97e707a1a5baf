/** Compaction as it runs in production: on worker threads, over a directory. */
import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';
import { NodeFileSystem } from '../../src/base/node-file-system.ts';
import { describeDirectoryStore, DirectoryObjectStore } from '../../src/object/directory-object-store.ts';
import type { ObjectStore } from '../../src/object/object-store.ts';
import { WorkerPool } from '../../src/store/pool.ts';
import { coded } from '../support/test-store.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { keyed, latestOf, plain, World } from './world.ts';

async function copy(from: ObjectStore, to: ObjectStore): Promise<void> {
  for await (const { key, bytes } of from.list()) {
    if ((await to.size(key)) !== undefined) continue;
    const writer = await to.create(key);
    await writer.write(await from.read(key, 0, bytes));
    await writer.commit();
  }
}

/** Objects are written in memory, compacted in a directory by threads, and read in memory again. */
async function threads(t: TestContext): Promise<{ readonly world: World; readonly directory: DirectoryObjectStore }> {
  const folder = temporaryDirectory();
  const directory = new DirectoryObjectStore({ root: folder.path, fileSystem: new NodeFileSystem() });
  const pool = new WorkerPool(1, 2);
  t.after(async () => {
    await pool.close();
    await directory.close();
    folder.remove();
  });
  const world = await World.open();
  world.threads = async (job) => {
    await copy(world.memory, directory);
    const result = await pool.rewrite({ ...job, objects: describeDirectoryStore({ root: folder.path }) });
    await copy(directory, world.memory);
    return result;
  };
  return { world, directory };
}

suite('on worker threads', () => {
  test('a job does what it does elsewhere', async (t) => {
    const { world } = await threads(t);
    const [a, b] = [await world.stream('a'), await world.stream('b', { cleanup: 'compact' })];
    for (let index = 0; index < 4; index += 1) {
      await world.append({ streamId: a, records: plain(30) }, { streamId: b, records: keyed(30, 7) });
    }
    const before = [await world.read(a), await world.read(b)];
    await world.agent().compact({ force: true });
    assert.deepEqual(await world.read(a), before[0]);
    assert.deepEqual(await world.read(b), latestOf(before[1] ?? []));
    assert.equal((await world.committedKeys()).length, 2);
  });

  test('a damaged input comes back as the error it is, and a lost job stops', async (t) => {
    const { world, directory } = await threads(t);
    const id = await world.stream('a');
    for (let index = 0; index < 2; index += 1) await world.append({ streamId: id, records: plain(30) });
    await copy(world.memory, directory);
    const [key = ''] = await world.committedKeys();
    await directory.delete([key]);
    await world.memory.delete([key]);
    await assert.rejects(world.agent().compact({ force: true }), coded('ERR_MILLRACE_OBJECT_NOT_FOUND', key));
    const runner = world.jobEnvironment().runner;
    const rewrite: typeof runner.rewrite = async (job) => {
      Atomics.store(new Int32Array(job.cancel), 0, 1);
      return runner.rewrite(job);
    };
    const agent = world.agent({}, { runner: { rewrite } });
    await assert.rejects(agent.compact({ force: true }), coded('ERR_MILLRACE_ABORTED'));
  });
});
