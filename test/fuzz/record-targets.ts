/** Decoders of what lies inside blocks and chunks: frames, records, tracking, compressed bodies. */
import assert from 'node:assert/strict';
import { viewOf } from '../../src/base/bytes.ts';
import { CODEC, compress, decompress } from '../../src/codec/compression.ts';
import { FRAME_FIELD, FRAME_HEADER_BYTES, RECORD_HEADER_BYTES } from '../../src/record/frame-format.ts';
import { RecordBatch } from '../../src/record/record-batch.ts';
import {
  decodeTracking,
  encodeTracking,
  readPublisherExtension,
  TRACKING_ENTRY,
} from '../../src/record/tracking-format.ts';
import { frame } from '../segment/fixture.ts';
import { type Field, fieldsAt } from './edits.ts';
import { decoded, type Target } from './target.ts';

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

/** Fields of every frame header that can be reached, and of the records behind each. */
export function frameFields(bytes: Uint8Array, from = 0, to: number = bytes.length): Field[] {
  const view = viewOf(bytes);
  const fields: Field[] = [];
  for (let at = from; at + FRAME_HEADER_BYTES <= to;) {
    fields.push(...fieldsAt(at, FRAME_FIELD, FRAME_HEADER_BYTES));
    const first = at + FRAME_HEADER_BYTES;
    for (let field = 0; field < RECORD_HEADER_BYTES; field += 4) fields.push({ at: first + field, bytes: 4 });
    const frameBytes = view.getUint32(at, true);
    if (frameBytes < FRAME_HEADER_BYTES) break;
    at += frameBytes;
  }
  return fields;
}

/** Reads all there is of a batch: nothing may lie outside the bytes, or out of order. */
export function readAll(bytes: Uint8Array, baseOffset = 0): void {
  const batch = decoded(() => RecordBatch.decode(bytes, { name: 'a batch', baseOffset }, 0, Infinity));
  if (batch === undefined) return;
  let userBytes = 0;
  let last = -Infinity;
  for (const { offset, key, value, timestamp } of batch) {
    userBytes += (key?.length ?? 0) + (value?.length ?? 0);
    assert.ok(offset > last && Number.isSafeInteger(offset), 'offsets ascend');
    assert.ok(!Number.isNaN(timestamp));
    last = offset;
  }
  assert.ok(userBytes <= bytes.length, 'no more content than bytes');
  assert.ok(last < batch.nextOffset, 'no record behind the end');
}

const frames: Target = {
  name: 'frames',
  samples: [
    frame(7, 42, [text('hello'), text('mill'), new Uint8Array(0)], 1_700_000_000_000),
    new Uint8Array(Buffer.concat([frame(1, 0, [text('a'.repeat(100))]), frame(1, 1, [text('b'), text('c')])])),
  ],
  fieldsOf: (bytes) => frameFields(bytes),
  repair: () => undefined,
  run: (bytes) => {
    readAll(bytes);
  },
};

const ENTRIES = encodeTracking([
  { type: TRACKING_ENTRY.cut, offset: 7 },
  { type: TRACKING_ENTRY.offset, reference: 'billing', offset: 5 },
  { type: TRACKING_ENTRY.offsetRemoved, reference: 'audit' },
  { type: TRACKING_ENTRY.publisher, reference: 'sensör-7', publishingId: 42, offset: 6 },
  { type: TRACKING_ENTRY.publisherRemoved, reference: 'x' },
]);

const tracking: Target = {
  name: 'tracking',
  samples: [ENTRIES],
  fieldsOf: (bytes) => Array.from({ length: bytes.length }, (_, at) => ({ at, bytes: at % 3 === 0 ? 8 : 1 })),
  repair: () => undefined,
  run: (bytes) => {
    const entries = decodeTracking(bytes);
    if (entries === undefined) return;
    // References that are no UTF-8 change when they are written again; everything else stays.
    const wellFormed = entries.every((entry) => !('reference' in entry) || !entry.reference.includes('\ufffd'));
    if (wellFormed) assert.deepEqual(decodeTracking(encodeTracking(entries)), entries);
  },
};

const extension: Target = {
  name: 'publisher extension',
  samples: [Uint8Array.from([42, 0, 0, 0, 0, 0, 0, 0, 3, 97, 98, 99, 0, 0, 0, 0])],
  fieldsOf: () => [
    { at: 0, bytes: 8 },
    { at: 8, bytes: 1 },
  ],
  repair: () => undefined,
  run: (bytes) => {
    const mark = readPublisherExtension(viewOf(bytes), 0, bytes.length);
    if (mark !== undefined) assert.ok(Number.isSafeInteger(mark.publishingId) && mark.publishingId >= 0);
  },
};

/** A length in front of an LZ4 block, as the header of a chunk claims it. */
const bodies: Target = {
  name: 'compressed bodies',
  samples: ['mill '.repeat(400), 'a', '', 'no repeats: qwertyuiopasdfghjklzxcvbnm'].map((value) => {
    const raw = text(value);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(raw.length);
    return new Uint8Array(Buffer.concat([length, compress(CODEC.lz4, raw)]));
  }),
  fieldsOf: () => [{ at: 0, bytes: 4 }],
  repair: () => undefined,
  run: (bytes) => {
    if (bytes.length < 4) return;
    const claimed = viewOf(bytes).getUint32(0, true);
    const raw = decoded(() => decompress(CODEC.lz4, bytes.subarray(4), claimed));
    if (raw !== undefined) assert.equal(raw.length, claimed, 'exactly what was claimed');
  },
};

export const RECORD_TARGETS: readonly Target[] = [frames, tracking, extension, bodies];
