/**
 * Copies a segment, holding every byte against its checksums on the way, so that damage is never copied. The copy may
 * be given to another store: chunks carry no store id, only the header and the footer do.
 */
import { viewOf } from '../base/bytes.ts';
import { xxh64 } from '../codec/checksum.ts';
import {
  type ExpectedSegment,
  FOOTER_FIELD,
  HEADER_CHECKED_FROM,
  HEADER_FIELD,
  SEGMENT_HEADER_BYTES,
  TAIL_BYTES,
  TAIL_CHECKED_TO,
  TAIL_FIELD,
} from './format.ts';
import { parseSegmentHeader } from './header.ts';
import { PagedOutput } from './paged-output.ts';
import { SegmentReader } from './reader.ts';
import type { SegmentSink } from './sink.ts';
import { readRange, type SegmentSource } from './source.ts';

/** A copy that is complete and durable. */
export interface CopiedSegment {
  readonly bytes: number;
  /** Of its footer: another one than the original's where the store id differs. */
  readonly checksum: bigint;
}

/**
 * Copies the segment to `sink` and commits it; `storeId` says whose the copy is, by default the original's.
 * Throws `ERR_MILLRACE_SEGMENT_CORRUPT`, `ERR_MILLRACE_FOREIGN_FILE`, and what source and sink throw; the sink is
 * aborted then.
 */
export async function copySegment(
  source: SegmentSource,
  expected: ExpectedSegment,
  sink: SegmentSink,
  storeId?: Uint8Array,
): Promise<CopiedSegment> {
  const output = new PagedOutput(sink);
  try {
    const checksum = await copyContent(source, expected, output, storeId);
    await output.finish();
    return { bytes: await sink.commit(), checksum };
  } catch (error) {
    await output.abandon();
    await sink.abort();
    throw error;
  }
}

async function copyContent(
  source: SegmentSource,
  expected: ExpectedSegment,
  output: PagedOutput,
  storeId: Uint8Array | undefined,
): Promise<bigint> {
  const { objectKey } = expected;
  const reader = await SegmentReader.open(source, expected);
  const header = await readRange(source, objectKey, 0, SEGMENT_HEADER_BYTES);
  parseSegmentHeader(header, expected);
  await output.putAll(storeId === undefined ? header : ownHeader(header, storeId));
  for (const run of reader.footer.listRuns()) {
    for await (const chunk of reader.chunks(run)) await output.putAll(chunk.bytes);
  }
  const { position } = reader.footer;
  await output.putAll(new Uint8Array(position - output.position));
  const end = await readRange(source, objectKey, position, source.size - position);
  const footer = storeId === undefined ? end : ownFooter(end, storeId);
  await output.putAll(footer);
  return viewOf(footer).getBigUint64(footer.length - TAIL_BYTES + TAIL_FIELD.checksum, true);
}

function ownHeader(original: Uint8Array, storeId: Uint8Array): Uint8Array {
  const header = new Uint8Array(original);
  header.set(storeId, HEADER_FIELD.storeId);
  viewOf(header).setBigUint64(HEADER_FIELD.checksum, xxh64(header.subarray(HEADER_CHECKED_FROM)), true);
  return header;
}

/** `original`: footer and tail. */
function ownFooter(original: Uint8Array, storeId: Uint8Array): Uint8Array {
  const end = new Uint8Array(original);
  const tail = end.length - TAIL_BYTES;
  end.set(storeId, FOOTER_FIELD.storeId);
  const checksum = xxh64(end.subarray(0, tail + TAIL_CHECKED_TO));
  viewOf(end).setBigUint64(tail + TAIL_FIELD.checksum, checksum, true);
  return end;
}
