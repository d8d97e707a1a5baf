/**
 * What a rewrite would write: the layout is production's, sizes come from the records that stay. Of a keyed stream, a
 * record stays when none of the later records up to the end of the job's part has its key.
 */
import { required } from '../../src/base/assert.ts';
import type { Layout, LayoutParent, LayoutRun } from '../../src/compaction/layout.ts';
import { cleanBytesOf } from '../../src/compaction/view.ts';
import type { FoundRun } from '../../src/coordinator/coordinator.ts';
import type { Job, JobOutput, JobRun } from '../../src/coordinator/job.ts';
import { CHUNK_HEADER_BYTES } from '../../src/segment/chunk-format.ts';
import { SEGMENT_HEADER_BYTES } from '../../src/segment/format.ts';
import { chunksOf } from './workload.ts';

/** Records of offsets [from, to) whose key does not come again before `end`, of `keys` equally likely keys. */
export function survivors(from: number, to: number, end: number, keys: number): number {
  if (to <= from) return 0;
  return keys * (Math.exp((to - end) / keys) - Math.exp((from - end) / keys));
}

/** Runs by the key of their object and their position there. */
type Places = ReadonlyMap<string, ReadonlyMap<number, FoundRun>>;

export type KeysOf = (streamId: number) => number;

/** The outputs of a job under these object keys, one for each output of the layout. */
export function modelOutputs(job: Job, layout: Layout, objectKeys: readonly string[], keysOf: KeysOf): JobOutput[] {
  const found: Places = new Map(
    job.inputs.map(({ key, runs }) => [key, new Map(runs.map((run) => [run.byteOffset, run]))]),
  );
  const ends = keyedEnds(layout);
  return layout.outputs.map(({ generation, runs }, index) => {
    let byteOffset = SEGMENT_HEADER_BYTES;
    let chunks = 0;
    const written: JobRun[] = runs.map((run) => {
      const end = ends.get(run.streamId) ?? run.nextOffset;
      const made = modelRun(run, found, byteOffset, end, keysOf(run.streamId));
      byteOffset += made.byteLength;
      chunks += made.chunks;
      return made;
    });
    const bytes = cleanBytesOf(byteOffset - SEGMENT_HEADER_BYTES, runs.length, chunks);
    const key = required(objectKeys[index], 'an object key for each output');
    return { key, bytes, checksum: '0'.repeat(16), generation, runs: written };
  });
}

/** By stream, up to where its keys are known to the job. */
function keyedEnds(layout: Layout): Map<number, number> {
  const ends = new Map<number, number>();
  for (const { runs } of layout.outputs) {
    for (const { streamId, nextOffset, keys } of runs) {
      if (keys !== 'all') ends.set(streamId, Math.max(ends.get(streamId) ?? 0, nextOffset));
    }
  }
  return ends;
}

function modelRun(run: LayoutRun, found: Places, byteOffset: number, end: number, keys: number): JobRun {
  let records = 0;
  let byteLength = 0;
  let userBytes = 0;
  let firstTimestamp = Infinity;
  let lastTimestamp = -Infinity;
  for (const parent of run.parents) {
    const source = required(found.get(parent.objectKey)?.get(parent.byteOffset), 'parents are runs of the inputs');
    const kept = keptRecords(run, parent, end, keys);
    const share = parent.records === 0 ? 0 : kept / parent.records;
    records += kept;
    byteLength += source.byteLength * share;
    userBytes += source.userBytes * share;
    firstTimestamp = Math.min(firstTimestamp, source.firstTimestamp);
    lastTimestamp = Math.max(lastTimestamp, source.lastTimestamp);
  }
  const stored = Math.max(CHUNK_HEADER_BYTES, Math.round(byteLength));
  return {
    streamId: run.streamId,
    firstOffset: run.firstOffset,
    nextOffset: run.nextOffset,
    records,
    userBytes: Math.round(userBytes),
    trackingBytes: 0,
    firstTimestamp,
    lastTimestamp,
    epoch: 0,
    byteOffset,
    byteLength: stored,
    chunks: chunksOf(stored),
    parents: run.parents.map(({ objectKey, byteOffset: position }) => ({ objectKey, byteOffset: position })),
  };
}

function keptRecords(run: LayoutRun, parent: LayoutParent, end: number, keys: number): number {
  const from = Math.max(parent.firstOffset, run.visibleFrom);
  const visible = Math.max(0, parent.endOffset - from);
  const span = parent.nextOffset - parent.firstOffset;
  const alive = span === 0 ? 0 : (parent.records * visible) / span;
  if (run.keys === 'all') return Math.round(alive);
  return Math.min(Math.round(alive), Math.round(survivors(from, parent.endOffset, end, keys)));
}
