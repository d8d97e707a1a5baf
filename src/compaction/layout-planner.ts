/** Decides where everything of a claimed job goes, before a byte is read. Pure. */
import type { FoundRun, RunReference } from '../coordinator/coordinator.ts';
import type { Job } from '../coordinator/job.ts';
import type { Mutable } from '../record/run-columns.ts';
import type { Layout, LayoutParent, LayoutRun, PlacedParent, StreamParents } from './layout.ts';
import { OutputAssigner } from './output-assigner.ts';
import { KEYED_RECORDS_MAX } from './plan-keys.ts';
import type { CompactionSettings } from './settings.ts';
import { classOf, COMPACTED_GENERATION, compactedClass } from './stream-class.ts';
import { runName } from './tracking-runs.ts';

/** Parents that become one run. */
interface Group {
  readonly output: number;
  readonly parents: PlacedParent[];
}

/**
 * `needed`: by stream, the runs of the whole store with tracking that is still needed, in order. The hint
 * `joinRuns: false` keeps input runs apart, for streams that have runs between them which cover no offset.
 */
export function layOut(
  job: Job,
  needed: ReadonlyMap<number, readonly FoundRun[]>,
  settings: Pick<CompactionSettings, 'targetBytes' | 'maxBytes' | 'expiryBucket'>,
): Layout {
  const streams = parentsByStream(job, settings.expiryBucket);
  const assigner = new OutputAssigner(streams, settings);
  const runs: LayoutRun[][] = [];
  const generations: number[] = [];
  const dropped: RunReference[] = [];
  for (const stream of streams) {
    const tracking = needed.get(stream.streamId);
    const names = tracking === undefined ? undefined : new Set(tracking.map(runName));
    for (const { output, parents } of groupsOf(stream, assigner, job.hints['joinRuns'] !== false)) {
      const run = layOutRun(stream, parents, tracking?.[0], names);
      if (run === undefined) {
        dropped.push(...parents.map(({ run: { objectKey, byteOffset } }) => ({ objectKey, byteOffset })));
        continue;
      }
      (runs[output] ??= []).push(run);
      generations[output] = Math.max(generations[output] ?? 0, ...parents.map((parent) => generationOf(job, parent)));
    }
  }
  // Outputs of which everything was dropped leave holes in the numbering.
  const outputs = [...runs.keys()].flatMap((index) => {
    const contents = runs[index];
    return contents === undefined ? [] : [{ generation: generations[index] ?? 0, runs: contents }];
  });
  return { outputs, dropped };
}

function parentsByStream(job: Job, expiryBucket: number): StreamParents[] {
  const found = new Map<number, Mutable<PlacedParent>[]>();
  for (const { stream } of job.streams) found.set(stream.streamId, []);
  for (const { runs, generation } of job.inputs) {
    for (const run of runs) found.get(run.streamId)?.push({ run, generation, className: '', keys: 'all' });
  }
  return job.streams.map(({ stream, firstOffset }) => {
    const { streamId, config } = stream;
    const parents = (found.get(streamId) ?? []).sort((left, right) => inStreamOrder(left.run, right.run));
    const lastTimestamp = parents.reduce((latest, { run }) => Math.max(latest, run.lastTimestamp), 0);
    const className = classOf(config, lastTimestamp, expiryBucket);
    const records = parents.reduce((sum, { run }) => sum + run.records, 0);
    const keyed = job.kind === 'keyCompaction' && config.cleanup === 'compact' && records <= KEYED_RECORDS_MAX;
    let beginning = firstOffset;
    for (const parent of parents) {
      const { run, generation } = parent;
      // The unbroken beginning: each run starts where the last one ended, the first one at the log start or below.
      const complete = run.firstOffset <= beginning;
      beginning = complete ? Math.max(beginning, run.endOffset) : -1;
      const compacted = generation >= COMPACTED_GENERATION || (keyed && complete);
      parent.className = compacted ? compactedClass(className) : className;
      if (keyed) parent.keys = complete ? 'complete' : 'latest';
    }
    return { streamId, compression: config.compression, firstOffset, parents };
  });
}

/** Runs that cover nothing share their offset with the run behind them. */
function inStreamOrder(left: FoundRun, right: FoundRun): number {
  const byOffset = left.firstOffset - right.firstOffset || left.nextOffset - right.nextOffset;
  if (byOffset !== 0) return byOffset;
  return left.objectKey === right.objectKey
    ? left.byteOffset - right.byteOffset
    : left.objectKey < right.objectKey
      ? -1
      : 1;
}

function groupsOf({ parents }: StreamParents, assigner: OutputAssigner, join: boolean): Group[] {
  const groups: Group[] = [];
  for (const parent of parents) {
    const output = assigner.place(parent);
    const last = groups.at(-1);
    const before = last?.parents.at(-1);
    const follows =
      before !== undefined &&
      last?.output === output &&
      before.run.endOffset === parent.run.firstOffset &&
      before.keys === parent.keys;
    if (join && follows) last?.parents.push(parent);
    else groups.push({ output, parents: [parent] });
  }
  return groups;
}

/**
 * `undefined` when nothing of the parents is needed. `oldest` is the first run with needed tracking, `names` are all of
 * them: most streams have none, and then no run has to be named.
 */
function layOutRun(
  { streamId, compression, firstOffset: logStart }: StreamParents,
  group: readonly PlacedParent[],
  oldest: FoundRun | undefined,
  names: ReadonlySet<string> | undefined,
): LayoutRun | undefined {
  const first = (group[0] as PlacedParent).run;
  const end = (group.at(-1) as PlacedParent).run.endOffset;
  // Few are copied: a job may have tens of thousands.
  const parents = group.map(({ run }): LayoutParent => {
    return names?.has(runName(run)) === true ? { ...run, tracking: true } : run;
  });
  const oldestName = oldest && runName(oldest);
  const snapshot = oldestName !== undefined && group.some(({ run }) => runName(run) === oldestName);
  // A run that stays in front, kept for its tracking, has to be followed without a gap: then nothing is cut off.
  const inFront = oldest === undefined || snapshot || oldest.firstOffset > first.firstOffset;
  const visibleFrom = Math.max(first.firstOffset, Math.min(logStart, end));
  const firstOffset = inFront ? visibleFrom : first.firstOffset;
  const tracking = snapshot || parents.some((parent) => parent.tracking === true);
  if (firstOffset === end && !tracking) return undefined;
  const { keys } = group[0] as PlacedParent;
  return { streamId, firstOffset, nextOffset: end, visibleFrom, compression, snapshot, keys, parents };
}

/** Generation 0 is for objects of appends alone. */
function generationOf({ kind }: Job, { generation, keys }: PlacedParent): number {
  if (keys === 'complete') return COMPACTED_GENERATION;
  return kind === 'merge' ? generation + 1 : Math.max(1, generation);
}
