/** Small things that every test of a coordinator needs: configs, runs, and objects that are ready to commit. */
import { createHash } from 'node:crypto';
import type { CommitRun, Coordinator, FindLimits, FoundRun, ObjectCommit } from '../../coordinator/coordinator.ts';
import type { Job, JobOutput, JobRun } from '../../coordinator/job.ts';
import type { StreamConfig } from '../../record/stream-config.ts';

export const PLAIN: StreamConfig = { compression: 'lz4', retention: {}, cleanup: 'delete' };
export const EVERYTHING: FindLimits = { maxRuns: 1_000_000, maxBytes: Number.MAX_SAFE_INTEGER };

/** A checksum that tells contents apart. */
export function sampleChecksum(content: unknown): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 16);
}

/** A dense run of `records` records from `firstOffset` on; ten user bytes each. */
export function sampleRun(
  streamId: number,
  firstOffset: number,
  records: number,
  more: Partial<CommitRun> = {},
): CommitRun {
  return {
    streamId,
    firstOffset,
    nextOffset: firstOffset + records,
    records,
    userBytes: records * 10,
    trackingBytes: 0,
    firstTimestamp: records === 0 ? 0 : firstOffset,
    lastTimestamp: records === 0 ? 0 : firstOffset + records,
    epoch: 0,
    byteOffset: 0,
    byteLength: 100,
    chunks: 1,
    ...more,
  };
}

/** Lays the runs out one after the other, behind a header of 64 bytes. */
export function sampleCommit(key: string, runs: readonly CommitRun[], more: Partial<ObjectCommit> = {}): ObjectCommit {
  let position = 64;
  const placed = runs.map((run) => {
    const byteOffset = position;
    position += run.byteLength;
    return { ...run, byteOffset };
  });
  return { key, bytes: position + 32, checksum: sampleChecksum(placed), runs: placed, ...more };
}

export async function reserveKey(coordinator: Coordinator): Promise<string> {
  const { keys } = await coordinator.reserveObjects(1);
  return keys[0]!;
}

/** Reserves and commits one object; returns its key. */
export async function commitRuns(
  coordinator: Coordinator,
  runs: readonly CommitRun[],
  more: Partial<ObjectCommit> = {},
): Promise<string> {
  const key = await reserveKey(coordinator);
  await coordinator.commitObject(sampleCommit(key, runs, more));
  return key;
}

export async function makeStream(
  coordinator: Coordinator,
  name: string,
  more: Partial<StreamConfig> = {},
): Promise<number> {
  const { stream } = await coordinator.createStream(name, { ...PLAIN, ...more });
  return stream.streamId;
}

export async function allRuns(coordinator: Coordinator, streamId: number): Promise<readonly FoundRun[]> {
  const { runs } = await coordinator.findRuns(streamId, 0, EVERYTHING);
  return runs;
}

/**
 * The output that merges all inputs of a job into one object: runs that follow each other become one, in the order of
 * stream and offset. `place` is each run's index in its stream, for streams where offsets alone do not tell the order.
 */
export function mergedOutput(job: Job, key: string, place?: (run: FoundRun) => number): JobOutput {
  const runs = job.inputs.flatMap((input) => input.runs);
  const follows = (before: FoundRun, run: FoundRun): boolean =>
    before.streamId === run.streamId &&
    (place === undefined ? before.endOffset === run.firstOffset : place(before) + 1 === place(run));
  runs.sort(
    (left, right) =>
      left.streamId - right.streamId ||
      (place === undefined ? left.firstOffset - right.firstOffset : place(left) - place(right)),
  );
  const merged: JobRun[] = [];
  for (const [index, run] of runs.entries()) {
    const parents = [{ objectKey: run.objectKey, byteOffset: run.byteOffset }];
    const before = index === 0 ? undefined : runs[index - 1]!;
    if (before !== undefined && follows(before, run)) {
      merged.push(joined(merged.pop()!, run, parents));
    } else {
      const { objectKey: _key, endOffset: _end, ...facts } = run;
      merged.push({ ...facts, ...cut(run), parents });
    }
  }
  let position = 64;
  const placed = merged.map((run) => {
    const byteOffset = position;
    position += run.byteLength;
    return { ...run, byteOffset };
  });
  const generation = Math.max(...job.inputs.map((input) => input.generation)) + 1;
  return { key, bytes: position + 32, checksum: sampleChecksum(placed), generation, runs: placed };
}

/** What a rewrite copies of a run: nothing beyond its end. */
function cut(run: FoundRun): { nextOffset: number; records: number } {
  const dense = run.records === run.nextOffset - run.firstOffset;
  const span = run.endOffset - run.firstOffset;
  return { nextOffset: run.endOffset, records: dense ? span : Math.min(run.records, span) };
}

function joined(before: JobRun, run: FoundRun, parents: JobRun['parents']): JobRun {
  const { nextOffset, records } = cut(run);
  const none = records === 0;
  return {
    ...before,
    nextOffset,
    records: before.records + records,
    userBytes: before.userBytes + run.userBytes,
    trackingBytes: before.trackingBytes + run.trackingBytes,
    firstTimestamp:
      before.records === 0
        ? run.firstTimestamp
        : none
          ? before.firstTimestamp
          : Math.min(before.firstTimestamp, run.firstTimestamp),
    lastTimestamp:
      before.records === 0
        ? run.lastTimestamp
        : none
          ? before.lastTimestamp
          : Math.max(before.lastTimestamp, run.lastTimestamp),
    epoch: Math.max(before.epoch, run.epoch),
    byteLength: before.byteLength + run.byteLength,
    chunks: before.chunks + run.chunks,
    trackingSnapshot: before.trackingSnapshot === true || run.trackingSnapshot,
    parents: [...before.parents, ...parents],
  };
}
