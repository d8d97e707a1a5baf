/** Compaction that is paused for all processes. */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite, test } from 'node:test';
import type { Store } from '../../src/index.ts';
import { until } from '../support/child-processes.ts';
import { StoreFolder } from '../support/test-store.ts';

const AT_ONCE = {
  minFirstGenerationAge: 0,
  maxFirstGenerationAge: 0,
  interval: 10,
};

async function segments(store: Store, count: number): Promise<void> {
  const stream = await store.stream('values');
  for (let index = 0; index < count; index += 1) {
    await stream.append(`value ${index}`);
    await store.flush();
  }
}

suite('compaction', () => {
  test('paused from a reader stops in the process that writes, and goes on when resumed', async (t) => {
    const folder = new StoreFolder(t);
    const writer = await folder.open({ compaction: AT_ONCE });
    const reader = await folder.open({ readOnly: true });
    await reader.setCompactionPaused(true);
    await until('the pause', async () => writer.stats().compaction?.paused === true);
    await segments(writer, 3);
    await sleep(50);
    assert.equal((await writer.objects()).length, 3);
    assert.equal(await writer.compactionPaused(), true);
    await reader.setCompactionPaused(false);
    await until('a merge', async () => (writer.stats().compaction?.outputs ?? 0) > 0);
    assert.equal(writer.stats().compaction?.paused, false);
  });

  test('stays paused for a process that opens the store later, and does what it is told to', async (t) => {
    const folder = new StoreFolder(t);
    const first = await folder.open({ compaction: false });
    await first.setCompactionPaused(true);
    await first.setCompactionPaused(true);
    await segments(first, 3);
    await first.close();
    const second = await folder.open({ compaction: AT_ONCE });
    await until('the pause', async () => second.stats().compaction?.paused === true);
    assert.equal((await second.objects()).length, 3);
    assert.equal((await second.compact({ force: true })).jobs, 1);
    await second.setCompactionPaused(false);
    assert.equal(await second.compactionPaused(), false);
  });
});
