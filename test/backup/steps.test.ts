/** A target that is cut off at every step of a backup: what it holds then, and what the next backup makes of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BackupSource, takeBackup } from '../../src/backup/backup.ts';
import { chooseBackup, listBackups, readState } from '../../src/backup/catalogue.ts';
import { runCopyJob } from '../../src/backup/copy-job.ts';
import { systemClock } from '../../src/base/clock.ts';
import { NodeFileSystem } from '../../src/base/node-file-system.ts';
import { factsOf } from '../../src/coordinator/manifest/image.ts';
import { openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import { readIdentity } from '../../src/store/identity.ts';
import { verifyObjects } from '../../src/store/verify.ts';
import { describeDirectoryStore, DirectoryObjectStore } from '../../src/object/directory-object-store.ts';
import { MemoryObjectStore } from '../../src/object/memory-object-store.ts';
import type { ObjectEntry, ObjectStore, ObjectWriter } from '../../src/object/object-store.ts';
import { numbered, StoreFolder } from '../support/test-store.ts';

/** Passes `steps` calls on, then fails for good, as the connection of a process that was killed does. */
class CutOff implements ObjectStore {
  readonly #inner: ObjectStore;
  #steps: number;

  constructor(inner: ObjectStore, steps: number) {
    this.#inner = inner;
    this.#steps = steps;
  }

  get isCut(): boolean {
    return this.#steps < 0;
  }

  async create(key: string): Promise<ObjectWriter> {
    this.#step();
    const writer = await this.#inner.create(key);
    return {
      write: async (bytes) => {
        this.#step();
        await writer.write(bytes);
      },
      commit: async () => {
        this.#step();
        return writer.commit();
      },
      // Who is cut off cleans nothing up.
      abort: () => Promise.resolve(),
    };
  }

  async read(key: string, position: number, length: number): Promise<Uint8Array> {
    this.#step();
    return this.#inner.read(key, position, length);
  }

  async size(key: string): Promise<number | undefined> {
    this.#step();
    return this.#inner.size(key);
  }

  async delete(keys: readonly string[]): Promise<string[]> {
    this.#step();
    // Half of it happens.
    if (this.#steps === 0) return this.#inner.delete(keys.slice(0, Math.ceil(keys.length / 2)));
    return this.#inner.delete(keys);
  }

  async *list(prefix?: string): AsyncIterable<ObjectEntry> {
    this.#step();
    yield* this.#inner.list(prefix);
  }

  async removeUnfinished(): Promise<number> {
    return 0;
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  #step(): void {
    this.#steps -= 1;
    if (this.#steps < 0) throw new Error('cut off');
  }
}

test('cut off at any step, the target holds whole backups only, and the next one succeeds', async (t) => {
  const folder = new StoreFolder(t);
  const store = await folder.open({ compaction: { deleteGrace: 0 } });
  const stream = await store.stream('s');
  const fileSystem = new NodeFileSystem();
  const storeId = readIdentity(fileSystem, folder.dir);
  assert.ok(storeId !== undefined);
  const coordinator = await openEmbeddedCoordinator({
    fileSystem,
    directory: folder.path('manifest'),
    storeId,
    readOnly: true,
  });
  t.after(() => coordinator.close());
  const objects = new DirectoryObjectStore({ root: folder.path('objects') });
  t.after(() => objects.close());
  const descriptor = describeDirectoryStore({ root: folder.path('objects') });
  const source: BackupSource = {
    storeId,
    objects: descriptor,
    clock: systemClock,
    wal: () => undefined,
    image: async (number, position) => {
      await coordinator.refresh();
      return coordinator.image(number, position);
    },
  };
  const target = new MemoryObjectStore();
  const backUp = (place: ObjectStore): Promise<unknown> =>
    takeBackup(source, { objects: place, descriptor }, { copy: (job) => runCopyJob(job, objects, place) }, { keep: 2 });
  const check = async (): Promise<number> => {
    const numbers = await listBackups(target);
    for (const number of numbers) {
      const head = await chooseBackup(target, number);
      const { objects: named, records } = factsOf(await readState(target, head));
      const report = await verifyObjects(target, storeId, named, {});
      assert.deepEqual([report.problems, report.records], [[], records], `backup ${number}`);
    }
    return numbers.length;
  };

  let cuts = 0;
  for (let round = 0; round < 5; round += 1) {
    await stream.appendMany(numbered(10, 'record ', round * 10));
    await store.flush();
    if (round % 2 === 1) await store.compact({ force: true });
    const before = (await listBackups(target)).at(-1) ?? 0;
    for (let steps = 0; ; steps += 1) {
      const place = new CutOff(target, steps);
      const outcome = await backUp(place).then(
        () => 'done',
        (error: unknown) => error,
      );
      await check();
      if (!place.isCut) {
        assert.equal(outcome, 'done');
        break;
      }
      cuts += 1;
    }
    const latest = await chooseBackup(target, undefined);
    assert.ok(latest.number > before);
    assert.equal(latest.records, (round + 1) * 10);
  }
  assert.ok(cuts > 50, `${cuts} cuts`);
});
