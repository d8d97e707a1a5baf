import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open } from '../../src/index.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

test('a store tells its metrics by the conventions of Prometheus, and counts what it did', async () => {
  const directory = temporaryDirectory();
  const store = await open({ dir: directory.path, wal: { slots: 2, slotBytes: 65_536 } });
  try {
    await (await store.stream('s')).appendMany(['a', 'b', 'c']);
    await store.flush();
    const lines = store.metrics().trimEnd().split('\n');
    const samples = lines.filter((line) => !line.startsWith('#'));
    assert.ok(samples.length > 20);
    for (const sample of samples) assert.match(sample, /^millrace_[a-z_]+(\{[a-z]+="[a-zA-Z]+"\})? -?[0-9.e+-]+$/);
    const types = lines.filter((line) => line.startsWith('# TYPE '));
    for (const type of types) assert.equal(type.endsWith(' counter'), / millrace_[a-z_]+_total /.test(type), type);
    assert.ok(samples.includes('millrace_streams 1'));
    assert.ok(samples.includes('millrace_flush_records_total 3'));
    assert.ok(samples.includes('millrace_wal_failed 0'));
  } finally {
    await store.close();
    directory.remove();
  }
});
