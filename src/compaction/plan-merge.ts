/**
 * Merges of small objects. Those of appends hold every stream and are merged by age into one output for each class;
 * outputs are merged with others of their class and generation, so that each byte is copied `maxGenerations` times at
 * most. Only what is still far below the target goes on: each merge makes it several times as large, and so there are
 * few of them.
 */
import type { JobPlan } from '../coordinator/job.ts';
import { groupsOf, liveBytesOf, planOf, type PlanContext } from './plan-groups.ts';
import { outputsFor } from './sizes.ts';
import { COMPACTED_GENERATION } from './stream-class.ts';
import type { ObjectFacts } from './view.ts';

/** A first merge ends with this many times the target. Simulated fleets cost least so. */
const ENOUGH = 1.25;

export function planMerges(context: PlanContext): JobPlan[] {
  const small = context.available.filter(({ liveBytes }) => liveBytes < context.settings.targetBytes);
  return [...planFirstGeneration(context, small), ...planLaterGenerations(context, small)];
}

function planFirstGeneration({ settings, view, force }: PlanContext, small: readonly ObjectFacts[]): JobPlan[] {
  const { minFirstGenerationAge, maxFirstGenerationAge, targetBytes, maxBytes } = settings;
  const maxInputs = settings.maxFirstGenerationInputs;
  const bornBy =
    (age: number) =>
    (object: ObjectFacts): boolean =>
      view.now - object.committedAt >= age;
  const ripe = small.filter((object) => object.generation === 0 && (force || bornBy(minFirstGenerationAge)(object)));
  // Inputs share the memory for windows: more of them take more requests each, and save little.
  return groupsOf(ripe, { maxInputs, maxBytes, enoughBytes: targetBytes * ENOUGH })
    .filter((group) => {
      const full = group.length === maxInputs || liveBytesOf(group) >= targetBytes;
      const due = force || full || group.some(bornBy(maxFirstGenerationAge));
      return group.length > 1 && due;
    })
    .map((group) => planOf('merge', 'first generation', group));
}

/** Objects below this part of the target are merged again whatever their generation. */
const TINY_DIVISOR = 8;

function planLaterGenerations({ settings, force }: PlanContext, small: readonly ObjectFacts[]): JobPlan[] {
  const { maxInputs, maxBytes, maxGenerations } = settings;
  const minInputs = force ? 2 : settings.minInputs;
  const tiers = new Map<string, ObjectFacts[]>();
  for (const object of small) {
    const merges = object.generation % COMPACTED_GENERATION;
    const tiny = object.liveBytes < settings.targetBytes / TINY_DIVISOR;
    if (object.generation === 0 || (merges >= maxGenerations && !tiny)) continue;
    // With force, generations mix: one merge then does what several would.
    const name = `${object.generation >= COMPACTED_GENERATION} ${force ? '' : merges} ${object.className}`;
    const tier = tiers.get(name);
    if (tier === undefined) tiers.set(name, [object]);
    else tier.push(object);
  }
  return [...tiers.values()]
    .flatMap((tier) => groupsOf(tier, { maxInputs, maxBytes }))
    .filter((group) => group.length >= minInputs && outputsFor(liveBytesOf(group), settings) < group.length)
    .map((group) => planOf('merge', 'small objects', group));
}
