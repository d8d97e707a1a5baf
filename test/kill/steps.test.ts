/**
 * Kills at one file operation after the other, until the work is done before the kill comes; in an ordinary run at
 * every thirteenth one, with `MILLRACE_EVERY_STEP` set at each.
 */
import assert from 'node:assert/strict';
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Faults, type FaultRule, whyNoShim } from '../support/fault-shim.ts';
import { StoreProcess } from '../support/store-process.ts';
import { numbered, SMALL_WAL, StoreFolder, texts } from '../support/test-store.ts';

const skip = whyNoShim() ?? false;
const STRIDE = process.env['MILLRACE_EVERY_STEP'] === undefined ? 13 : 1;

/** What a process was told to be durable before it was killed. */
interface Told {
  records: number;
  offset: number | undefined;
}

type Work = (child: StoreProcess, dir: string, told: Told) => Promise<void>;

const WAL = { ...SMALL_WAL, slots: 2 };

const WORKS: Readonly<Record<string, Work>> = {
  'the birth of a store and its first records': async (child, dir, told) => {
    await child.call('open', { dir, wal: WAL });
    await child.call('append', 'a', numbered(3));
    told.records = 3;
    await child.call('close');
  },
  'a flush of records and tracking, and what comes behind it': async (child, dir, told) => {
    await child.call('open', { dir, wal: {} });
    await child.call('append', 'a', numbered(5, 'record ', told.records));
    told.records += 5;
    await child.call('storeOffset', 'a', 'billing', 2);
    told.offset = 2;
    await child.call('flush');
    await child.call('append', 'a', numbered(5, 'record ', told.records));
    told.records += 5;
    await child.call('close');
  },
  'another geometry': async (child, dir, told) => {
    await child.call('open', { dir, wal: { ...WAL, slots: 3 } });
    await child.call('append', 'a', numbered(1, 'record ', told.records));
    told.records += 1;
    await child.call('close');
  },
};

/** Runs the work from the same beginning again and again, killed at each operation; returns how many there were. */
async function killAtEach(t: TestContext, work: Work, begin: (folder: StoreFolder) => Promise<Told>): Promise<number> {
  const folder = new StoreFolder(t);
  const beginning = join(folder.parent, 'beginning');
  const atBeginning = await begin(folder);
  cpSync(folder.dir, beginning, { recursive: true, force: true });
  for (let step = 1; ; step += STRIDE) {
    rmSync(folder.dir, { recursive: true, force: true });
    if (atBeginning.records > 0) cpSync(beginning, folder.dir, { recursive: true });
    const faults = new Faults(folder.dir, folder.parent);
    const action: FaultRule['action'] = step % 2 === 0 ? 'kill' : 'kill-after';
    faults.arm({ operation: 'any', path: '/', first: step, action });
    const child = await StoreProcess.start(t, { environment: faults.environment });
    const told = { ...atBeginning };
    const done = await work(child, folder.dir, told).then(
      () => true,
      (error: unknown) => {
        assert.equal((error as { code?: string }).code, 'ENDED');
        return false;
      },
    );
    await child.kill();
    await checkAfter(folder, told, `step ${step}`);
    if (done) return step - 1;
  }
}

async function checkAfter(folder: StoreFolder, told: Told, step: string): Promise<void> {
  const store = await folder.open({ wal: {} });
  const stream = await store.stream('a');
  const values = await texts(stream.read());
  assert.ok(values.length >= told.records, `${step}: ${values.length} records, ${told.records} acknowledged`);
  assert.deepEqual(values, numbered(values.length), step);
  if (told.offset !== undefined) assert.equal(await stream.queryOffset('billing'), told.offset, step);
  assert.equal(await stream.append(`record ${values.length}`), values.length);
  await store.flush();
  assert.deepEqual((await store.verify()).problems, [], step);
  await store.close();
  const names = readdirSync(folder.dir, { recursive: true, encoding: 'utf8' });
  assert.deepEqual(
    names.filter((name) => /\.tmp$|^wal\..*/.test(name)),
    [],
    step,
  );
}

const NOTHING: Told = { records: 0, offset: undefined };

for (const [what, work] of Object.entries(WORKS)) {
  test(`a kill at any step of ${what} loses nothing`, { skip }, async (t) => {
    const steps = await killAtEach(t, work, async (folder) => {
      const store = await folder.open({ wal: WAL });
      const told = { ...NOTHING };
      if (what.startsWith('the birth')) {
        await store.close();
        return told;
      }
      await (await store.stream('a')).appendMany(numbered(4));
      cpSync(folder.dir, `${folder.dir} copy`, { recursive: true });
      await store.close();
      rmSync(folder.dir, { recursive: true });
      cpSync(`${folder.dir} copy`, folder.dir, { recursive: true });
      return { ...told, records: 4 };
    });
    assert.ok(steps > 10, `${steps} steps`);
  });
}

test('a group of up to a block is there whole or not at all, wherever in the ring it lies', { skip }, async (t) => {
  const folder = new StoreFolder(t);
  const faults = new Faults(folder.dir, folder.parent);
  const wal = { slots: 2, slotBytes: 2 * 1024 * 1024, flushInterval: 3_600_000 };
  await (await folder.open({ wal })).close();
  const size = 60;
  let groups = 0;
  for (let write = 1; write <= 7; write += 1) {
    const child = await StoreProcess.start(t, { environment: faults.environment });
    await child.call('open', { dir: folder.dir, wal });
    faults.arm({ operation: 'write', path: '.wal', first: write, action: 'kill' });
    let acknowledged = groups;
    try {
      for (;;) {
        const values = Array.from({ length: size }, (_, index) => `${acknowledged} ${index} `.padEnd(14_900, 'x'));
        await child.call('appendMany', 'a', values);
        acknowledged += 1;
      }
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'ENDED');
    }
    await child.kill();
    faults.arm();
    const store = await folder.open({ wal });
    const values = await texts((await store.stream('a')).read());
    assert.equal(values.length % size, 0, 'groups are whole');
    groups = values.length / size;
    assert.ok(groups >= acknowledged);
    values.forEach((value, index) => {
      assert.ok(value?.startsWith(`${Math.floor(index / size)} ${index % size} `));
    });
    await store.close();
  }
  assert.ok(groups > 6);
});
