/** Rewrites of objects for their own sake: what is dead in them, or how old they are. */
import type { JobPlan } from '../coordinator/job.ts';
import { groupsOf, planOf, type PlanContext } from './plan-groups.ts';
import type { CompactionSettings } from './settings.ts';
import { dirtyRatioOf, type ObjectFacts } from './view.ts';

/** How often objects whose grace has passed are deleted, at the latest. */
export const CLEANER_INTERVAL = 120_000;

/**
 * Objects whose dead bytes a deadline wants gone. An output inherits the deadline of its inputs when something died
 * while it was written. That death is new: it may wait for half a margin, and what cannot be freed yet is not tried in
 * a loop.
 */
export function planDeadlines({ available, settings, view }: PlanContext): JobPlan[] {
  const pause = Math.ceil(settings.deadlineMargin / 2);
  const due = available.filter(({ rewriteBy, committedAt, generation }) => {
    if (rewriteBy === undefined || view.now < deadlineStart(rewriteBy, settings)) return false;
    return generation === 0 || view.now >= committedAt + pause;
  });
  return rewrites(due, settings, 'rewrite', 'deletion deadline');
}

/** When a rewrite starts so that the bytes are physically gone by `rewriteBy`. */
export function deadlineStart(rewriteBy: number, settings: CompactionSettings): number {
  return rewriteBy - settings.deadlineMargin - settings.deleteGrace - CLEANER_INTERVAL;
}

/** Objects in which too much is dead. Those of appends that are about to be merged wait for that. */
export function planDirty({ available, settings, view, force }: PlanContext): JobPlan[] {
  const due = available.filter((object) => {
    const ratio = dirtyRatioOf(object);
    if (force) return ratio > 0;
    if (object.generation === 0 && view.now - object.committedAt < settings.maxFirstGenerationAge) return false;
    return ratio >= settings.dirtyRatio;
  });
  return rewrites(due, settings, 'rewrite', 'dead bytes');
}

/** Objects that hold tracking which later snapshots replace. */
export function planTracking({ available, settings, force }: PlanContext): JobPlan[] {
  const due = available.filter(({ supersededBytes, liveBytes }) => {
    return supersededBytes > 0 && (force || supersededBytes / liveBytes >= settings.trackingRatio);
  });
  return rewrites(due, settings, 'chunkCompaction', 'superseded tracking');
}

/** Objects that have reached their lifetime. */
export function planAged({ available, settings, view }: PlanContext): JobPlan[] {
  const due = available.filter(({ committedAt }) => view.now - committedAt >= settings.maxAge);
  return rewrites(due, settings, 'rewrite', 'lifetime');
}

function rewrites(
  due: readonly ObjectFacts[],
  { maxInputs, maxBytes }: CompactionSettings,
  kind: JobPlan['kind'],
  reason: string,
): JobPlan[] {
  return groupsOf(due, { maxInputs, maxBytes }).map((group) => planOf(kind, reason, group));
}
