/** The page `docs/formats/tracking.md`, held against the code. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  PUBLISHERS_MAX,
  REFERENCE_BYTES_MAX,
  REFERENCES_MAX,
  TRACKING_FRAME_BYTES_MAX,
  TRACKING_RUNS_MAX,
} from '../../src/limits/limits.ts';
import {
  decodeTracking,
  encodeTracking,
  TRACKING_ENTRY,
  type TrackingEntry,
} from '../../src/record/tracking-format.ts';
import { CHUNK_TYPE } from '../../src/segment/chunk-format.ts';
import { TRACKING_SETTINGS_DEFAULT } from '../../src/stream/tracking-policy.ts';
import { FormatPage } from '../support/format-page.ts';

// Tests run from `dist/test/record`.
const docs = new URL('../../../docs/', import.meta.url);
const page = new FormatPage(readFileSync(new URL('formats/tracking.md', docs), 'utf8'));
/** Without the breaks between lines. */
const prose = page.text.replaceAll(/\s+/g, ' ');
const guide = readFileSync(new URL('offset-tracking.md', docs), 'utf8').replaceAll(/\s+/g, ' ');

const EXAMPLE: readonly TrackingEntry[] = [
  { type: TRACKING_ENTRY.cut, offset: 7 },
  { type: TRACKING_ENTRY.offset, reference: 'billing', offset: 5 },
  { type: TRACKING_ENTRY.offsetRemoved, reference: 'audit' },
  { type: TRACKING_ENTRY.publisher, reference: 'sensor-7', publishingId: 42, offset: 6 },
];

test('the example is what is written, and reads as it says', () => {
  const dump = page.dump('tracking');
  assert.deepEqual(dump, Buffer.from(encodeTracking(EXAMPLE)));
  assert.deepEqual(decodeTracking(dump), EXAMPLE);
});

test('types and bounds are those of the code', () => {
  const rows = [...page.text.matchAll(/^\| (\d) \| ([a-z ]{3,}) \|/gm)].map(([, type, name = '']) => [
    Number(type),
    name.replace(/ ([a-z])/g, (_, letter: string) => letter.toUpperCase()),
  ]);
  assert.deepEqual(
    rows,
    Object.entries(TRACKING_ENTRY).map(([name, type]) => [type, name]),
  );
  assert.ok(prose.includes(`a chunk of type ${CHUNK_TYPE.trackingSnapshot}`));
  assert.ok(prose.includes(`a chunk of type ${CHUNK_TYPE.trackingDelta}`));
  assert.ok(prose.includes(`at most ${TRACKING_FRAME_BYTES_MAX / 1_024} KiB`));
  assert.ok(prose.includes(`takes ${TRACKING_RUNS_MAX} runs to read`));
  assert.ok(prose.includes(PUBLISHERS_MAX.toLocaleString('en-US')));
});

test('the guide names the defaults and bounds of the code', () => {
  const { budget, maxInterval } = TRACKING_SETTINGS_DEFAULT;
  for (const fact of [
    `${budget} of user bytes`,
    `${maxInterval.toLocaleString('en-US')} ms by default`,
    `1 to ${REFERENCE_BYTES_MAX} bytes`,
    `| consumers of a stream | ${REFERENCES_MAX.toLocaleString('en-US')} |`,
    `| publishers of a stream | ${PUBLISHERS_MAX.toLocaleString('en-US')} |`,
    `at most ${TRACKING_RUNS_MAX} deltas`,
  ]) {
    assert.ok(guide.includes(fact), fact);
  }
});
