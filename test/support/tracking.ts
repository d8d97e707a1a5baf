/** Tracking for properties: few references and small offsets, so that entries meet each other. */
import fc from 'fast-check';
import { TRACKING_ENTRY, type TrackingEntry } from '../../src/record/tracking-format.ts';

/** Any well-formed reference, mostly short ones. */
export const arbitraryReference: fc.Arbitrary<string> = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((text) => Buffer.byteLength(text) <= 255 && Buffer.from(text).toString() === text);

const reference = fc.oneof(fc.constantFrom('a', 'b', 'c'), arbitraryReference);
const offset = fc.oneof(fc.nat({ max: 100 }), fc.maxSafeNat());

const plain = { noNullPrototype: true };

export const arbitraryEntry: fc.Arbitrary<TrackingEntry> = fc.oneof(
  fc.record({ type: fc.constant(TRACKING_ENTRY.offset), reference, offset }, plain),
  fc.record({ type: fc.constant(TRACKING_ENTRY.publisher), reference, publishingId: fc.maxSafeNat(), offset }, plain),
  fc.record({ type: fc.constant(TRACKING_ENTRY.offsetRemoved), reference }, plain),
  fc.record({ type: fc.constant(TRACKING_ENTRY.publisherRemoved), reference }, plain),
  fc.record({ type: fc.constant(TRACKING_ENTRY.cut), offset }, plain),
);
