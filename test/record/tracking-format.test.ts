import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  decodeTracking,
  encodeTracking,
  publisherExtensionBytes,
  readPublisherExtension,
  TRACKING_ENTRY,
  trackingBytes,
  type TrackingEntry,
  writePublisherExtension,
} from '../../src/record/tracking-format.ts';
import { arbitraryEntry, arbitraryReference } from '../support/tracking.ts';

test('entries come back as they were written, in their order', () => {
  fc.assert(
    fc.property(fc.array(arbitraryEntry, { maxLength: 50 }), (entries) => {
      const bytes = encodeTracking(entries);
      assert.equal(bytes.length, trackingBytes(entries));
      assert.deepEqual(decodeTracking(bytes), entries);
    }),
  );
});

test('a reference of 255 bytes fits, and one more is a bug that is caught', () => {
  const longest: TrackingEntry = { type: TRACKING_ENTRY.offset, reference: '\u00e9'.repeat(127) + 'x', offset: 1 };
  assert.deepEqual(decodeTracking(encodeTracking([longest])), [longest]);
  assert.throws(() => encodeTracking([{ ...longest, reference: 'x'.repeat(256) }]), { name: 'AssertionError' });
});

test('bytes cut off anywhere are refused or hold whole entries only', () => {
  fc.assert(
    fc.property(fc.array(arbitraryEntry, { minLength: 1, maxLength: 8 }), fc.nat(), (entries, seed) => {
      const bytes = encodeTracking(entries);
      const cut = seed % bytes.length;
      const decoded = decodeTracking(bytes.subarray(0, cut));
      if (decoded === undefined) return;
      assert.deepEqual(decoded, entries.slice(0, decoded.length));
      assert.equal(trackingBytes(decoded), cut);
    }),
  );
});

test('any bytes are refused, or hold numbers that can be counted with', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const decoded = decodeTracking(bytes);
      if (decoded === undefined) return;
      for (const entry of decoded) {
        if ('offset' in entry) assert.ok(Number.isSafeInteger(entry.offset));
        if ('publishingId' in entry) assert.ok(Number.isSafeInteger(entry.publishingId));
      }
    }),
    { numRuns: 2_000 },
  );
});

test('an unknown type, an entry without its reference and a value above 2^53 are refused', () => {
  const entry = encodeTracking([{ type: TRACKING_ENTRY.offset, reference: 'a', offset: 3 }]);
  const changed = (at: number, value: number): Uint8Array => {
    const bytes = entry.slice();
    bytes[at] = value;
    return bytes;
  };
  assert.equal(decodeTracking(changed(0, 0)), undefined);
  assert.equal(decodeTracking(changed(0, 6)), undefined);
  assert.equal(decodeTracking(changed(10, 0x20)), undefined);
  assert.equal(decodeTracking(Uint8Array.of(TRACKING_ENTRY.offsetRemoved, 0)), undefined);
  assert.equal(decodeTracking(Uint8Array.of(TRACKING_ENTRY.cut, 1, 97, 0, 0, 0, 0, 0, 0, 0, 0)), undefined);
  assert.deepEqual(decodeTracking(new Uint8Array(0)), []);
});

test("a publisher's mark comes back from its extension, whose length is a multiple of 4", () => {
  fc.assert(
    fc.property(arbitraryReference, fc.maxSafeNat(), (reference, publishingId) => {
      const referenceBytes = Buffer.from(reference);
      const length = publisherExtensionBytes(referenceBytes.length);
      assert.equal(length % 4, 0);
      const bytes = new Uint8Array(length + 8).fill(0xaa);
      const view = new DataView(bytes.buffer);
      writePublisherExtension(bytes, view, 4, referenceBytes, publishingId);
      assert.deepEqual(readPublisherExtension(view, 4, length), { reference, publishingId });
      // Neither in front nor behind anything was touched.
      assert.deepEqual([...bytes.subarray(0, 4), ...bytes.subarray(4 + length)], Array<number>(8).fill(0xaa));
      for (let short = 0; short < 9 + referenceBytes.length; short += 1) {
        assert.equal(readPublisherExtension(view, 4, short), undefined);
      }
    }),
  );
});
