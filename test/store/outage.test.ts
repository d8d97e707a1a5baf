/** A bucket that answers 503 to everything for a while. */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { behindOutages } from '../support/outage-object-store.ts';
import { coded, numbered, StoreFolder, texts } from '../support/test-store.ts';

test('appends wait through an outage of the object store, and are acknowledged in order after it', async (t) => {
  const folder = new StoreFolder(t);
  const outage = join(folder.parent, 'outage');
  const objects = behindOutages({ root: join(folder.parent, 'objects'), outage });
  const store = await folder.open({
    wal: false,
    objects,
    diskless: { interval: 5, slotBytes: 64 * 1024, slots: 2 },
    compaction: { minFirstGenerationAge: 0, maxFirstGenerationAge: 0, interval: 10 },
    cacheBytes: 0,
  });
  const stream = await store.stream('values');
  assert.equal(await stream.append('record 0'), 0);
  writeFileSync(outage, '');
  const offsets: number[] = [];
  const appends = numbered(20, 'record ', 1).map(async (value) => offsets.push(await stream.append(value)));
  while ((store.stats().flush?.retries ?? 0) < 2) await sleep(5);
  assert.deepEqual(offsets, [], 'nothing is acknowledged meanwhile');
  await assert.rejects(texts(stream.read()), coded('ERR_MILLRACE_UNAVAILABLE', '503'));
  rmSync(outage);
  await Promise.all(appends);
  assert.deepEqual(
    offsets,
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
  assert.deepEqual(await texts(stream.read()), numbered(21));
  assert.ok((store.stats().requests['flush']?.requests['commit'] ?? 0) > 0);
  assert.deepEqual((await store.verify()).problems, []);
});

test('a store opens, and brings back its log, while its object store answers 503', async (t) => {
  const folder = new StoreFolder(t);
  const outage = join(folder.parent, 'outage');
  const options = { objects: behindOutages({ root: join(folder.parent, 'objects'), outage }), cacheBytes: 0 };
  const before = await folder.open(options);
  const stream = await before.stream('values');
  await stream.appendMany(numbered(10));
  writeFileSync(outage, '');
  // Closing cannot flush, and leaves the records in the log.
  await before.close();
  const store = await folder.open(options);
  const again = await store.stream('values');
  assert.equal(await again.append('record 10'), 10);
  assert.deepEqual(await texts(again.read()), numbered(11));
  const flushed = store.flush();
  while ((store.stats().flush?.retries ?? 0) < 2) await sleep(5);
  rmSync(outage);
  await flushed;
  assert.deepEqual(await texts(again.read()), numbered(11));
  assert.deepEqual((await store.verify()).problems, []);
});
