/**
 * Key compaction: of each key in a stream only the latest record is kept. A job takes a stream from its log start on,
 * so that its output is known to hold nothing superseded; such outputs carry a generation of their own. What was
 * written since is the stream's dirty part, and a job is due when that is large enough against the whole.
 */
import type { JobPlan } from '../coordinator/job.ts';
import { JOB_RUNS_MAX, planOf, type PlanContext } from './plan-groups.ts';
import { COMPACTED_GENERATION } from './stream-class.ts';
import type { KeyedPart, ObjectFacts } from './view.ts';

/** Objects of one job: their read buffers share a fixed amount of memory. */
export const KEYED_INPUTS_MAX = 128;
/** Records of one stream in one job: each takes a bit of memory. */
export const KEYED_RECORDS_MAX: number = 2 ** 27;

interface Part extends KeyedPart {
  readonly object: ObjectFacts;
}

interface Candidate {
  readonly objects: readonly ObjectFacts[];
  readonly dirtyBytes: number;
}

export function planKeyCompaction(context: PlanContext): JobPlan[] {
  const usable = new Set(context.available.filter((object) => isSettled(object, context)));
  const candidates: Candidate[] = [];
  for (const parts of partsByStream(context).values()) {
    const candidate = candidateOf(parts, usable, context);
    if (candidate !== undefined) candidates.push(candidate);
  }
  candidates.sort((left, right) => right.dirtyBytes - left.dirtyBytes);
  return combine(candidates);
}

/** Objects of appends are merged first, which leaves keyed streams among themselves. */
function isSettled({ generation, committedAt }: ObjectFacts, { force, view, settings }: PlanContext): boolean {
  return force || generation > 0 || view.now - committedAt >= settings.maxFirstGenerationAge;
}

/** Of each keyed stream all its parts, claimed ones too, from the log start on. */
function partsByStream({ view, streamId }: PlanContext): Map<number, Part[]> {
  const streams = new Map<number, Part[]>();
  for (const object of view.objects) {
    for (const part of object.keyedParts) {
      if (streamId !== undefined && part.streamId !== streamId) continue;
      const parts = streams.get(part.streamId);
      if (parts === undefined) streams.set(part.streamId, [{ ...part, object }]);
      else parts.push({ ...part, object });
    }
  }
  for (const parts of streams.values()) parts.sort((left, right) => left.firstOffset - right.firstOffset);
  return streams;
}

/** The longest beginning of a stream that one job can take, if compacting it is worth the work. */
function candidateOf(
  parts: readonly Part[],
  usable: ReadonlySet<ObjectFacts>,
  { force, settings }: PlanContext,
): Candidate | undefined {
  const prefix = prefixOf(parts, usable);
  let dirtyBytes = 0;
  let bytes = 0;
  for (const part of prefix) {
    bytes += part.bytes;
    if (part.object.generation < COMPACTED_GENERATION) dirtyBytes += part.bytes;
  }
  if (dirtyBytes === 0 || (!force && dirtyBytes < bytes * settings.dirtyRatio)) return undefined;
  return { objects: prefix.map(({ object }) => object), dirtyBytes };
}

function prefixOf(parts: readonly Part[], usable: ReadonlySet<ObjectFacts>): readonly Part[] {
  let whole = 0;
  let end = 0;
  let runs = 0;
  let records = 0;
  for (const [index, part] of parts.entries()) {
    runs += part.object.liveRuns;
    records += part.records;
    const fits = index < KEYED_INPUTS_MAX && records <= KEYED_RECORDS_MAX && (runs <= JOB_RUNS_MAX || index === 0);
    if (!usable.has(part.object) || !fits) break;
    end = Math.max(end, part.endOffset);
    // Parts may interleave: a beginning of the stream ends only where nothing of it lies elsewhere.
    const next = parts[index + 1];
    if (next === undefined || next.firstOffset >= end) whole = index + 1;
  }
  return parts.slice(0, whole);
}

/** Streams that share objects share the job, as far as it can take them. */
function combine(candidates: readonly Candidate[]): JobPlan[] {
  const jobs: { readonly objects: Set<ObjectFacts>; runs: number }[] = [];
  const taken = new Map<ObjectFacts, (typeof jobs)[number]>();
  for (const { objects } of candidates) {
    const owners = new Set(objects.flatMap((object) => taken.get(object) ?? []));
    if (owners.size > 1) continue;
    const [job = { objects: new Set<ObjectFacts>(), runs: 0 }] = owners;
    const added = objects.filter((object) => !job.objects.has(object));
    const runs = added.reduce((sum, { liveRuns }) => sum + liveRuns, job.runs);
    const fits = job.objects.size + added.length <= KEYED_INPUTS_MAX && runs <= JOB_RUNS_MAX;
    if (job.objects.size > 0 && !fits) continue;
    if (job.objects.size === 0) jobs.push(job);
    for (const object of added) {
      job.objects.add(object);
      taken.set(object, job);
    }
    job.runs = runs;
  }
  return jobs.map(({ objects }) => planOf('keyCompaction', 'superseded keys', [...objects]));
}
