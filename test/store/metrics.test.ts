import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { Store } from '../../src/index.ts';
import { METRICS } from '../../src/store/metric-table.ts';
import { StoreFolder } from '../support/test-store.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/metrics.md'), 'utf8');

/** Lines by metric and labels. */
function samplesOf(store: Store): Map<string, number> {
  const lines = store.metrics().trimEnd().split('\n');
  return new Map(
    lines
      .filter((line) => !line.startsWith('#'))
      .map((line): [string, number] => {
        const space = line.lastIndexOf(' ');
        return [line.slice(0, space), Number(line.slice(space + 1))];
      }),
  );
}

async function flushes(store: Store, count: number): Promise<void> {
  const stream = await store.stream('s');
  for (let index = 0; index < count; index += 1) {
    await stream.append('value');
    await store.flush();
  }
}

suite('metrics', () => {
  test('follow the conventions of Prometheus, and count what a store did', async (t) => {
    const store = await new StoreFolder(t).open({ compaction: false });
    await (await store.stream('s')).appendMany(['a', 'b', 'c']);
    await store.flush();
    const lines = store.metrics().trimEnd().split('\n');
    const samples = lines.filter((line) => !line.startsWith('#'));
    assert.ok(samples.length > 20);
    const label = '[a-z]+="[a-zA-Z0-9+._]+"';
    const form = new RegExp(`^millrace_[a-z_]+(\\{${label}(,${label})*\\})? -?[0-9.e+-]+$`);
    for (const sample of samples) assert.match(sample, form);
    const types = lines.filter((line) => line.startsWith('# TYPE '));
    for (const type of types) assert.equal(type.endsWith(' counter'), / millrace_[a-z_]+_total /.test(type), type);
    assert.ok(samples.includes('millrace_streams 1'));
    assert.ok(samples.includes('millrace_flush_records_total 3'));
    assert.ok(samples.includes('millrace_wal_failed 0'));
    assert.ok(samples.includes('millrace_append_records_total 3'));
    assert.ok(samples.includes('millrace_append_bytes_total 3'));
    assert.ok(samples.includes('millrace_append_seconds_count 1'), 'one call of appendMany');
  });

  test('count requests by what they were for', async (t) => {
    const store = await new StoreFolder(t).open({ compaction: { deleteGrace: 0 } });
    await flushes(store, 5);
    assert.equal((await store.compact({ force: true })).jobs, 1);
    assert.equal(await (await store.stream('s')).get(0).then((record) => String(record?.value)), 'value');
    const samples = samplesOf(store);
    const requests = (purpose: string, operation: string): number | undefined =>
      samples.get(`millrace_object_requests_total{purpose="${purpose}",operation="${operation}"}`);
    assert.equal(requests('flush', 'commit'), 5);
    assert.deepEqual([requests('merge', 'read'), requests('merge', 'commit')], [5, 1], 'small inputs are read whole');
    assert.ok((requests('read', 'read') ?? 0) >= 1);
    assert.ok((requests('housekeeping', 'delete') ?? 0) >= 1);
    assert.equal(samples.get('millrace_housekeeping_deleted_total'), 5);
    const written = samples.get('millrace_object_request_bytes_total{purpose="merge",operation="commit"}');
    assert.equal(written, samples.get('millrace_compaction_written_bytes_total'));
  });

  test('tell the coordinator times and failures by operation', async (t) => {
    const store = await new StoreFolder(t).open();
    await flushes(store, 3);
    await assert.rejects(store.compact({ stream: 'nobody' }));
    await assert.rejects(store.describeObject('nothing'));
    const samples = samplesOf(store);
    assert.equal(samples.get('millrace_coordinator_seconds_count{operation="commitObject"}'), 3);
    assert.equal(samples.get('millrace_coordinator_seconds_bucket{operation="commitObject",le="+Inf"}'), 3);
    assert.ok((samples.get('millrace_coordinator_seconds_sum{operation="commitObject"}') ?? 0) > 0);
  });

  test('stay what they were when they were asked for', async (t) => {
    const store = await new StoreFolder(t).open();
    await flushes(store, 1);
    const { coordinator } = store.stats();
    const before = structuredClone(coordinator);
    await flushes(store, 1);
    assert.deepEqual(coordinator, before);
    assert.equal(store.stats().coordinator['commitObject']?.durations.count, 2);
  });

  test('tell of objects by generation, size, age and dirt, once an agent has looked', async (t) => {
    const store = await new StoreFolder(t).open();
    await flushes(store, 4);
    await store.compact();
    let samples = samplesOf(store);
    assert.equal(samples.get('millrace_generation_objects{generation="0"}'), 4);
    assert.equal(samples.get('millrace_objects_by_bytes{le="1048576"}'), 4);
    assert.equal(samples.get('millrace_objects_by_age_seconds{le="+Inf"}'), 4);
    assert.equal(samples.get('millrace_objects_by_dirty_ratio{le="0"}'), 4);
    assert.ok((samples.get('millrace_merge_lag_seconds') ?? -1) >= 0);
    assert.equal(samples.get('millrace_deadline_overdue_seconds'), 0);
    await store.compact({ force: true });
    samples = samplesOf(store);
    assert.equal(samples.get('millrace_generation_objects{generation="1"}'), 1);
    assert.ok((samples.get('millrace_write_amplification_ratio') ?? 0) > 1);
    assert.ok((samples.get('millrace_last_success_timestamp_seconds{loop="compaction"}') ?? 0) > 0);
    assert.ok((samples.get('millrace_last_success_timestamp_seconds{loop="housekeeping"}') ?? 0) > 0);
  });

  test('are all on their page, with type and meaning, and the page has no others', () => {
    const documented = [...PAGE.matchAll(/^\| `(millrace_\w+)` +\| (\w+) +\| .*? +\| (.*?) +\|$/gm)];
    assert.deepEqual(
      documented.map(([, name, type, help]) => ({ name, type, help })),
      METRICS.map(({ name, type, help }) => ({ name, type, help })),
    );
  });
});
