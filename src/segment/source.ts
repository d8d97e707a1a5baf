/** Where a segment's bytes come from: ranged reads of an object store bound to one key fit. */
import { segmentCorrupt } from './errors.ts';

export interface SegmentSource {
  /** Bytes of the whole object. */
  readonly size: number;
  /** Reads exactly `length` bytes at `position`. `into`: memory of that length to use, which a source may ignore. */
  read(position: number, length: number, into?: Uint8Array): Promise<Uint8Array>;
}

/** Reads a range and holds the source to its contract. */
export async function readRange(
  source: SegmentSource,
  objectKey: string,
  position: number,
  length: number,
  into?: Uint8Array,
): Promise<Uint8Array> {
  const bytes = await source.read(position, length, into);
  if (bytes.length === length) return bytes;
  throw segmentCorrupt(objectKey, position, `the object store answered ${bytes.length} bytes of ${length}`);
}
