/** What the planners share: their context, and the cutting of candidates into jobs. */
import type { JobPlan } from '../coordinator/job.ts';
import type { CompactionSettings } from './settings.ts';
import type { CompactionView, ObjectFacts } from './view.ts';

/** Runs of one job. Each takes memory, for which windows make room (`job-memory.ts`): of so many half of it. */
export const JOB_RUNS_MAX = 65_536;

export interface PlanRequest {
  readonly view: CompactionView;
  readonly settings: CompactionSettings;
  /** Ignore ages and ratios: whatever a job would improve is due. */
  readonly force?: boolean;
  /** Only objects that hold this stream. */
  readonly streamId?: number | undefined;
}

/** What a planner works with. */
export interface PlanContext extends PlanRequest {
  readonly force: boolean;
  /** Objects that no job has, by ascending time of commit. */
  readonly available: readonly ObjectFacts[];
}

export type Planner = (context: PlanContext) => JobPlan[];

export function planOf(kind: JobPlan['kind'], reason: string, objects: readonly ObjectFacts[]): JobPlan {
  return { kind, inputKeys: objects.map(({ key }) => key), hints: { reason } };
}

export interface GroupLimits {
  readonly maxInputs: number;
  readonly maxBytes: number;
  /** A group that has reached this much takes no more. Default none. */
  readonly enoughBytes?: number;
}

/** Cuts `objects`, in order, into groups that one job can take. An object above the limits stands alone. */
export function groupsOf(objects: readonly ObjectFacts[], limits: GroupLimits): ObjectFacts[][] {
  const groups: ObjectFacts[][] = [];
  let group: ObjectFacts[] = [];
  let bytes = 0;
  let runs = 0;
  for (const object of objects) {
    const full =
      group.length === limits.maxInputs ||
      bytes >= (limits.enoughBytes ?? Infinity) ||
      bytes + object.liveBytes > limits.maxBytes ||
      runs + object.liveRuns > JOB_RUNS_MAX;
    if (full && group.length > 0) {
      groups.push(group);
      group = [];
      bytes = 0;
      runs = 0;
    }
    group.push(object);
    bytes += object.liveBytes;
    runs += object.liveRuns;
  }
  if (group.length > 0) groups.push(group);
  return groups;
}

export function liveBytesOf(objects: readonly ObjectFacts[]): number {
  return objects.reduce((sum, { liveBytes }) => sum + liveBytes, 0);
}
