/**
 * Decides what is to be done: pure, from a view of the objects to jobs, most urgent first. No object is in two of them.
 */
import type { JobPlan } from '../coordinator/job.ts';
import type { Planner, PlanRequest } from './plan-groups.ts';
import { planKeyCompaction } from './plan-keys.ts';
import { planMerges } from './plan-merge.ts';
import { planAged, planDeadlines, planDirty, planTracking } from './plan-rewrite.ts';
import { holdsStream, type ObjectFacts } from './view.ts';

/** In the order of urgency: deadlines are promises, keys and merges shrink what the others would copy. */
const PLANNERS: readonly Planner[] = [planDeadlines, planMerges, planKeyCompaction, planDirty, planTracking, planAged];

/** Every job that is due. */
export function planJobs(request: PlanRequest): JobPlan[] {
  const { view, streamId, force = false } = request;
  const wanted = (object: ObjectFacts): boolean => streamId === undefined || holdsStream(object, streamId);
  let available = view.objects.filter((object) => !object.claimed && wanted(object));
  const plans: JobPlan[] = [];
  for (const planner of PLANNERS) {
    const found = planner({ ...request, force, available });
    if (found.length === 0) continue;
    plans.push(...found);
    const taken = new Set(found.flatMap(({ inputKeys }) => inputKeys));
    available = available.filter(({ key }) => !taken.has(key));
  }
  return plans;
}
