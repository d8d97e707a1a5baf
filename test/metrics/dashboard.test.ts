import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '../support/test-store.ts';

const ROOT: string = join(import.meta.dirname, '..', '..', '..');

test('the dashboard asks for metrics that exist', async (t) => {
  const text = (await openStore(t)).metrics();
  const names = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name));
  const dashboard = readFileSync(join(ROOT, 'examples/grafana/millrace.json'), 'utf8');
  const { panels } = JSON.parse(dashboard) as { panels: { title: string; targets: { expr: string }[] }[] };
  assert.ok(panels.length >= 10);
  for (const { title, targets } of panels) {
    assert.ok(targets.length > 0, title);
    for (const { expr } of targets) assert.match(expr, /millrace_\w+\{/, title);
  }
  const asked = new Set(dashboard.match(/millrace_\w+/g));
  assert.deepEqual(
    [...asked].filter((name) => !names.has(name)),
    [],
  );
});
