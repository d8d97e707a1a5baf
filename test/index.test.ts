/** The package as a stranger meets it: through its own name, following the first page of the documentation. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import * as millrace from '../src/index.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';
import { SMALL_WAL } from './support/test-store.ts';

const run = promisify(execFile);

/** Runs a module that imports the package by its name, from the package's own directory. */
async function runModule(source: string, ...args: string[]): Promise<string> {
  const cwd = join(import.meta.dirname, '..', '..');
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', source, ...args], { cwd });
  return stdout;
}

test('what the package exports is what is documented, and nothing else', () => {
  assert.deepEqual(Object.keys(millrace).sort(), [
    'MillraceError',
    'attachProducer',
    'backups',
    'isMillraceError',
    'measurePerformance',
    'open',
    'restore',
    'setWorkerFiles',
    'verifyBackup',
  ]);
});

test('importing the package starts nothing: the process ends by itself', async () => {
  const source = `import * as millrace from 'millrace'; console.log(Object.keys(millrace).length);`;
  assert.equal(await runModule(source), '9\n');
});

test('a process with an open store ends by itself when its work is done, with everything durable', async (t) => {
  const directory = temporaryDirectory();
  t.after(() => {
    directory.remove();
  });
  const source = `
    import { open } from 'millrace';
    const store = await open({ dir: process.argv[1], wal: { slots: 2, slotBytes: 65536 } });
    const stream = await store.stream('orders');
    stream.append('not awaited');
    await stream.append('hello');
    stream.append('nor this one');
    console.log('done');`;
  const dir = join(directory.path, 'store');
  assert.equal(await runModule(source, dir), 'done\n');
  const store = await millrace.open({ dir, wal: SMALL_WAL });
  const values: (string | undefined)[] = [];
  for await (const { value } of (await store.stream('orders')).read()) values.push(value?.toString());
  assert.deepEqual(values, ['not awaited', 'hello', 'nor this one']);
  await store.close();
});

test('the tour of the first page works as written', async (t) => {
  const directory = temporaryDirectory();
  t.after(() => {
    directory.remove();
  });
  await using store = await millrace.open({ dir: join(directory.path, 'data'), wal: SMALL_WAL });
  const orders = await store.stream('orders', { compression: 'lz4', retention: { maxBytes: 1e9, maxAge: 1e9 } });
  const offset = await orders.append('hello', { key: 'k', timestamp: 1_700_000_000_000 });
  const first = await orders.appendMany(['a', { value: 'b', key: 'kb' }, null]);
  assert.deepEqual([offset, first], [0, 1]);

  const records: millrace.StreamRecord[] = [];
  for await (const record of orders.read({ from: 'first' })) records.push(record);
  assert.deepEqual(records[0], {
    offset: 0,
    timestamp: 1_700_000_000_000,
    key: Buffer.from('k'),
    value: Buffer.from('hello'),
    epoch: 0,
  });
  assert.equal(records[3]?.value, null);
  let count = 0;
  for await (const batch of orders.readBatches({ from: 0 })) {
    for (let index = 0; index < batch.length; index += 1) count += batch.record(index).offset >= 0 ? 1 : 0;
  }
  assert.equal(count, 4);
  assert.equal((await orders.get(offset))?.value?.toString(), 'hello');

  await orders.storeOffset('billing', offset);
  assert.equal(await orders.queryOffset('billing'), offset);
  const resumed: number[] = [];
  for await (const record of orders.read({ from: { reference: 'billing' } })) resumed.push(record.offset);
  assert.deepEqual(resumed, [1, 2, 3]);

  const publisher = orders.publisher('sensor-7');
  assert.deepEqual(await publisher.append(42, 'measured'), { offset: 4, duplicate: false });
  assert.deepEqual(await publisher.append(42, 'measured'), { offset: 4, duplicate: true });
  assert.equal(await publisher.lastPublishingId(), 42);

  await store.flush();
  await orders.trim(2);
  await orders.configure({ compression: 'none' });
  const info = await orders.info();
  assert.deepEqual(
    [info.name, info.firstOffset, info.nextOffset, info.durableOffset, info.records, info.config.compression],
    ['orders', 2, 5, 5, 3, 'none'],
  );
  assert.deepEqual((await store.verify()).problems, []);
  assert.deepEqual(
    (await store.streams()).map(({ name }) => name),
    ['orders'],
  );
  assert.equal(await store.deleteStream('orders'), true);
});
