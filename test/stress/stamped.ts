/** Values that know what they are: each carries its stream, its number and a checksum over all of itself. */
import assert from 'node:assert/strict';
import { viewOf, writeUint64 } from '../../src/base/bytes.ts';
import { readUint64 } from '../../src/base/bytes.ts';
import { xxh64 } from '../../src/codec/checksum.ts';

const HEAD_BYTES = 24;

/** A value of `bytes` bytes or a few more. */
export function stamped(stream: number, number: number, bytes: number): Buffer {
  const value = Buffer.alloc(Math.max(HEAD_BYTES, bytes), number & 0xff);
  const view = viewOf(value);
  view.setUint32(8, stream, true);
  view.setUint32(12, value.length, true);
  writeUint64(view, 16, number);
  view.setBigUint64(0, xxh64(value.subarray(8)), true);
  return value;
}

/** Holds that a value is whole, is of this stream and has this number. */
export function assertStamped(value: Buffer | null, stream: number, number: number): void {
  assert.ok(
    value !== null && value.length >= HEAD_BYTES,
    `offset ${number}: a value of ${String(value?.length)} bytes`,
  );
  const view = viewOf(value);
  const found = `stream ${view.getUint32(8, true)}, number ${readUint64(view, 16)}, ${value.length} bytes`;
  assert.equal(view.getBigUint64(0, true), xxh64(value.subarray(8)), `offset ${number}: torn: ${found}`);
  assert.equal(view.getUint32(8, true), stream, `offset ${number}: ${found}`);
  assert.equal(view.getUint32(12, true), value.length, `offset ${number}: ${found}`);
  assert.equal(readUint64(view, 16), number, `offset ${number}: ${found}`);
}
