/** Changes to bytes as plain data, so that a failing case can be shrunk, printed and run again. */
import type { SeededRandom } from '../../src/base/random.ts';

/** A field of a format: little endian, of 1, 2, 4 or 8 bytes. */
export interface Field {
  readonly at: number;
  readonly bytes: number;
}

/** The fields of a structure that begins at `base`, by the positions in `layout`; each reaches to the next. */
export function fieldsAt(base: number, layout: Readonly<Record<string, number>>, end: number): Field[] {
  const positions = [...new Set(Object.values(layout))].sort((left, right) => left - right);
  return positions.map((at, index) => {
    const room = (positions[index + 1] ?? end) - at;
    return { at: base + at, bytes: room >= 8 ? 8 : room >= 4 ? 4 : room >= 2 ? 2 : 1 };
  });
}

export type Edit =
  | { readonly type: 'set'; readonly at: number; readonly bytes: number; readonly value: bigint }
  | { readonly type: 'flip'; readonly at: number; readonly mask: number }
  | { readonly type: 'copy'; readonly from: number; readonly to: number; readonly length: number }
  | { readonly type: 'remove'; readonly at: number; readonly length: number }
  | { readonly type: 'insert'; readonly at: number; readonly content: readonly number[] }
  | { readonly type: 'cut'; readonly length: number };

/** Values at which lengths, counts and signs go wrong. */
const EDGES: readonly bigint[] = [
  ...[0n, 1n, 2n, 7n, 8n, 63n, 64n, 255n, 256n, 4_095n, 4_096n],
  ...[15n, 16n, 24n, 31n, 32n, 33n, 40n, 52n, 53n, 63n, 64n].flatMap((bits) => {
    const power = 1n << bits;
    return [power - 1n, power, power + 1n];
  }),
];

/** A few edits; most of them to fields, where a reader decides something. */
export function randomEdits(random: SeededRandom, bytes: Uint8Array, fields: readonly Field[]): Edit[] {
  const count = 1 + random.below(random.below(4) === 0 ? 6 : 2);
  return Array.from({ length: count }, () => randomEdit(random, bytes, fields));
}

function randomEdit(random: SeededRandom, bytes: Uint8Array, fields: readonly Field[]): Edit {
  const at = random.below(Math.max(1, bytes.length));
  const kind = random.below(20);
  const field = fields[random.below(Math.max(1, fields.length))];
  if (kind < 12 && field !== undefined) return { type: 'set', ...field, value: randomValue(random, bytes, field) };
  if (kind < 15) return { type: 'flip', at, mask: 1 << random.below(8) };
  if (kind < 16)
    return { type: 'set', at, bytes: 1 << random.below(4), value: EDGES[random.below(EDGES.length)] ?? 0n };
  if (kind < 17) return { type: 'copy', from: random.below(bytes.length + 1), to: at, length: 1 + random.below(64) };
  if (kind < 18) return { type: 'remove', at, length: 1 + random.below(64) };
  if (kind < 19) return { type: 'insert', at, content: [...random.bytes(1 + random.below(32))] };
  return { type: 'cut', length: at };
}

/** An edge, one more or less than it was, a value of another place, a length that nearly fits, or anything. */
function randomValue(random: SeededRandom, bytes: Uint8Array, { at, bytes: size }: Field): bigint {
  const old = readValue(bytes, at, size);
  switch (random.below(6)) {
    case 0:
      return old + BigInt(random.below(33)) - 16n;
    case 1:
      return readValue(bytes, random.below(bytes.length + 1), size);
    case 2:
      return BigInt(bytes.length + random.below(129) - 64);
    case 3:
      return (BigInt(random.uint32()) << 32n) | BigInt(random.uint32());
    default:
      return EDGES[random.below(EDGES.length)] ?? 0n;
  }
}

function readValue(bytes: Uint8Array, at: number, size: number): bigint {
  let value = 0n;
  for (let index = size - 1; index >= 0; index -= 1) value = (value << 8n) | BigInt(bytes[at + index] ?? 0);
  return value;
}

export function applyEdits(bytes: Uint8Array, edits: readonly Edit[]): Uint8Array {
  let edited: Uint8Array = bytes.slice();
  for (const edit of edits) edited = applyEdit(edited, edit);
  return edited;
}

function applyEdit(bytes: Uint8Array, edit: Edit): Uint8Array {
  switch (edit.type) {
    case 'set':
      for (let index = 0; index < edit.bytes && edit.at + index < bytes.length; index += 1) {
        bytes[edit.at + index] = Number((edit.value >> BigInt(8 * index)) & 255n);
      }
      return bytes;
    case 'flip':
      if (edit.at < bytes.length) bytes[edit.at] = (bytes[edit.at] ?? 0) ^ edit.mask;
      return bytes;
    case 'copy':
      bytes.copyWithin(edit.to, edit.from, edit.from + edit.length);
      return bytes;
    case 'remove':
      return joined(bytes.subarray(0, edit.at), bytes.subarray(edit.at + edit.length));
    case 'insert':
      return joined(bytes.subarray(0, edit.at), Uint8Array.from(edit.content), bytes.subarray(edit.at));
    case 'cut':
      return bytes.slice(0, edit.length);
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

export function textOf(edits: readonly Edit[]): string {
  return JSON.stringify(edits, (_, value: unknown) => (typeof value === 'bigint' ? `0x${value.toString(16)}` : value));
}
