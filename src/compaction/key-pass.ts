/** Walks over the keys of a stream's input runs, as often as the selection of the latest records asks for it. */
import { viewOf } from '../base/bytes.ts';
import { CHUNK_RAW_BYTES_TARGET } from '../limits/limits.ts';
import { FRAME_KIND } from '../record/frame-format.ts';
import { walkRecords } from '../record/record-walk.ts';
import { CHUNK_TYPE } from '../segment/chunk-format.ts';
import { chunkBody, type StoredChunk } from '../segment/chunk-reader.ts';
import type { KeyIndex } from './key-index.ts';
import { type KeyedRecord, selectLatest } from './key-selection.ts';
import type { LayoutParent, LayoutRun } from './layout.ts';
import type { ParentReader } from './parent-reader.ts';
import { corruptIn, framesOf, type Selection } from './run-rewriter.ts';
import { runName } from './tracking-runs.ts';

/** A parent with the records of it that can be read. */
interface VisibleParent {
  readonly parent: LayoutParent;
  readonly ordinal: number;
  readonly from: number;
  readonly to: number;
}

type MutableRecord = { -readonly [Field in keyof KeyedRecord]: KeyedRecord[Field] };

/** `runs` are all runs of the stream in the job, in order. */
export async function selectStream(
  reader: ParentReader,
  streamId: number,
  runs: readonly LayoutRun[],
  index: KeyIndex,
  tombstonesBefore: number,
): Promise<Selection> {
  const ordinals = new Map<string, number>();
  const parents: VisibleParent[] = [];
  let records = 0;
  let completeUpTo = 0;
  for (const run of runs) {
    for (const parent of run.parents) {
      ordinals.set(runName(parent), records);
      const from = Math.max(run.visibleFrom, parent.firstOffset);
      if (from < parent.endOffset) parents.push({ parent, ordinal: records, from, to: parent.endOffset });
      records += parent.records;
    }
    if (run.keys === 'complete') completeUpTo = records;
  }
  const pass = async (visit: (record: KeyedRecord) => void): Promise<void> => {
    for (const visible of parents) await walkParent(reader, streamId, visible, visit);
  };
  const kept = await selectLatest(pass, { index, records, completeUpTo, tombstonesBefore });
  return { kept, ordinalOf: (parent) => ordinals.get(runName(parent)) ?? 0 };
}

async function walkParent(
  reader: ParentReader,
  streamId: number,
  { parent, ordinal, from, to }: VisibleParent,
  visit: (record: KeyedRecord) => void,
): Promise<void> {
  const target = new Uint8Array(CHUNK_RAW_BYTES_TARGET);
  let next = ordinal;
  for await (const chunk of reader.chunks(parent, streamId, true)) {
    const { type, firstOffset, offsetSpan, recordCount } = chunk.header;
    if (type !== CHUNK_TYPE.records) continue;
    const readable = firstOffset < to && firstOffset + offsetSpan > from;
    if (readable) walkChunk(chunk, chunkBody(chunk, target), next, from, to, visit);
    next += recordCount;
  }
}

function walkChunk(
  chunk: StoredChunk,
  body: Uint8Array,
  firstOrdinal: number,
  from: number,
  to: number,
  visit: (record: KeyedRecord) => void,
): void {
  const view = viewOf(body);
  const corrupt = corruptIn(chunk);
  const keyed: MutableRecord = { ordinal: 0, key: body, isTombstone: false, timestamp: 0 };
  for (const { header, at, ordinal } of framesOf(chunk, view, firstOrdinal)) {
    if (header.kind !== FRAME_KIND.records) continue;
    const first = header.firstOffset + chunk.header.frameBase;
    walkRecords(view, at, header, corrupt, ({ index, delta, contentAt, keyBytes, valueBytes, timestamp }) => {
      if (keyBytes < 0 || first + delta < from || first + delta >= to) return;
      keyed.ordinal = ordinal + index;
      keyed.key = body.subarray(contentAt, contentAt + keyBytes);
      keyed.isTombstone = valueBytes < 0;
      keyed.timestamp = timestamp;
      visit(keyed);
    });
  }
}
