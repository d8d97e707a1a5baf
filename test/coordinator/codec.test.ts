import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { ByteReader, PayloadError } from '../../src/coordinator/manifest/byte-reader.ts';
import { ByteWriter } from '../../src/coordinator/manifest/byte-writer.ts';
import { checksum, list, signed, text, unsigned, type Codec } from '../../src/coordinator/manifest/codec.ts';
import { stateEvent } from '../../src/coordinator/manifest/event-codec.ts';
import { commitRun, streamConfig } from '../../src/coordinator/manifest/shared-codecs.ts';
import { sampleRun } from '../../src/testing/coordinator/samples.ts';

function encode<Value>(codec: Codec<Value>, value: Value): Uint8Array {
  const writer = new ByteWriter();
  codec.write(writer, value);
  return writer.take(0).slice();
}

function decode<Value>(codec: Codec<Value>, bytes: Uint8Array): Value {
  const reader = new ByteReader(bytes);
  const value = codec.read(reader);
  assert.equal(reader.remaining, 0);
  return value;
}

/** Every value comes back, and nothing shorter is taken for one. */
function comesBack<Value>(codec: Codec<Value>, values: fc.Arbitrary<Value>): void {
  fc.assert(
    fc.property(values, (value) => {
      const bytes = encode(codec, value);
      assert.deepEqual(decode(codec, bytes), value);
      for (let length = 0; length < bytes.length; length += 1) {
        assert.throws(() => codec.read(new ByteReader(bytes.subarray(0, length))), PayloadError);
      }
    }),
  );
}

const edges = fc.constantFrom(0, 63, 64, 127, 128, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53 - 2, 2 ** 53 - 1);
const offset = fc.oneof(fc.maxSafeNat(), fc.nat(), edges);
const timestamp = fc.oneof(
  fc.maxSafeInteger(),
  edges,
  edges.map((value) => 0 - value),
);
const hexadecimal = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map((value) => value.toString(16).padStart(16, '0'));

suite('manifest codecs', () => {
  test('varints come back, up to the largest safe integer', () => comesBack(unsigned, offset));
  test('signed varints come back, also where doubling would not fit', () => {
    comesBack(
      signed,
      timestamp.map((value) => (value === 0 ? 0 : value)),
    );
  });
  test('checksums come back digit by digit', () => comesBack(checksum, hexadecimal));
  test('texts come back', () => comesBack(text(400), fc.string({ unit: 'grapheme', maxLength: 60 })));
  test('lists come back', () =>
    comesBack(
      list(signed),
      fc.array(
        timestamp.map((value) => value || 0),
        { maxLength: 9 },
      ),
    ));

  test('configs come back without what is absent', () => {
    const optional = fc.option(offset, { nil: undefined });
    comesBack(
      streamConfig,
      fc
        .tuple(fc.constantFrom('lz4', 'none'), fc.constantFrom('delete', 'compact'), optional, optional, optional)
        .map(([compression, cleanup, maxBytes, maxAge, deletionDeadline]) => ({
          compression,
          cleanup,
          retention: { ...(maxBytes === undefined ? {} : { maxBytes }), ...(maxAge === undefined ? {} : { maxAge }) },
          ...(deletionDeadline === undefined ? {} : { deletionDeadline }),
        })),
    );
  });

  test('runs come back with every field', () => {
    const run = { ...sampleRun(3, 2 ** 40, 1000, { records: 7, epoch: 9, byteOffset: 2 ** 33, trackingBytes: 5 }) };
    comesBack(commitRun, fc.constantFrom({ ...run, trackingSnapshot: true }, { ...run, trackingSnapshot: false }));
  });

  for (const [what, bytes] of [
    ['a varint of nine bytes', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]],
    ['a varint above 2^53', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]],
  ] as const) {
    test(`${what} is refused`, () => {
      assert.throws(() => decode(unsigned, Uint8Array.from(bytes)), PayloadError);
    });
  }

  test('a claimed length beyond the block is refused before anything is made of it', () => {
    const huge = encode(unsigned, 2 ** 50);
    const made: number[] = [];
    const counted: Codec<number> = { ...unsigned, read: (reader) => made.push(unsigned.read(reader)) };
    assert.throws(() => decode(list(counted), Uint8Array.of(...huge, 1, 2, 3)), PayloadError);
    assert.deepEqual(made, []);
    assert.throws(() => decode(text(2 ** 52), huge), PayloadError);
  });

  test('text that is not UTF-8, and text over its limit, are refused', () => {
    assert.throws(() => decode(text(9), Uint8Array.of(1, 0xff)), PayloadError);
    assert.throws(() => decode(text(2), encode(text(9), 'abc')), PayloadError);
  });

  test('an unknown event is refused', () => {
    assert.throws(() => decode(stateEvent, Uint8Array.of(99)), PayloadError);
  });

  test('random bytes are an event or a PayloadError, and nothing else', () => {
    fc.assert(
      fc.property(fc.nat({ max: 18 }), fc.uint8Array({ maxLength: 80 }), (tag, bytes) => {
        try {
          stateEvent.read(new ByteReader(Uint8Array.of(tag, ...bytes)));
        } catch (error) {
          assert.ok(error instanceof PayloadError, String(error));
        }
      }),
      { numRuns: 2000 },
    );
  });
});
