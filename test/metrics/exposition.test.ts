import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exposition } from '../../src/metrics/exposition.ts';

test('metrics are written in the Prometheus text format, labels escaped, empty ones left out', () => {
  const text = exposition([
    { name: 'a_total', type: 'counter', help: 'As.', samples: [{ value: 3 }] },
    { name: 'b', type: 'gauge', help: 'Bs.', samples: [{ labels: { kind: 'x"\\\n' }, value: Infinity }] },
    { name: 'c', type: 'gauge', help: 'Cs.', samples: [] },
  ]);
  assert.equal(
    text,
    '# HELP a_total As.\n# TYPE a_total counter\na_total 3\n# HELP b Bs.\n# TYPE b gauge\nb{kind="x\\"\\\\\\n"} +Inf\n',
  );
});
