/**
 * Records that tell what they are: which append they belong to, where in it, and how large they have to be. A reader
 * needs no list of what was written to find a record torn, doubled or out of place.
 */
import { xxh64 } from '../../src/codec/checksum.ts';

export interface RecordMark {
  /** Names the append, over all processes. */
  readonly append: string;
  readonly index: number;
  /** Records of the append. */
  readonly count: number;
  /** Set by publishers. */
  readonly publishingId: number | undefined;
}

const SIZES = [0, 1, 20, 100, 300, 1_000, 3_000];

function paddingOf(append: string, index: number): number {
  const hash = Number(xxh64(Buffer.from(`${append} ${index}`)) & 0xffffffn);
  return SIZES[hash % SIZES.length] as number;
}

export function valueOf({ append, index, count, publishingId }: RecordMark): string {
  const head = `${append} ${index} ${count} ${publishingId ?? '-'} `;
  return head + 'x'.repeat(paddingOf(append, index));
}

/** The values of one append. */
export function valuesOf(append: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => valueOf({ append, index, count, publishingId: undefined }));
}

/** Where records have keys: the key of all those of an append, one of a few. */
export function keyOf(append: string): string {
  return `key ${Number(xxh64(Buffer.from(append)) % 4n)}`;
}

/** Throws when the value is not one that `valueOf` made. */
export function markOf(value: string): RecordMark {
  const [append = '', index = '', count = '', publishingId = ''] = value.split(' ', 4);
  const mark = {
    append,
    index: Number(index),
    count: Number(count),
    publishingId: publishingId === '-' ? undefined : Number(publishingId),
  };
  if (valueOf(mark) !== value) throw new Error(`a value that nobody wrote: ${value.slice(0, 80)}`);
  return mark;
}
