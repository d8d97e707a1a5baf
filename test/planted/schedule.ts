/** Plants the bugs one after the other, in as many trees as are given, and asks who has to notice. */
import type { PlantedBug } from './bug.ts';
import { type Outcome, runSuite } from './run.ts';
import type { ScratchTree } from './tree.ts';

export interface Verdict {
  readonly bug: PlantedBug;
  readonly caught: boolean;
  /** The test that failed first. */
  readonly noticed: string;
  readonly seconds: number;
}

/** Runs every suite that the bugs name, without a bug. Returns those that are not green, or of which nothing ran. */
export async function redSuites(
  trees: readonly ScratchTree[],
  bugs: readonly PlantedBug[],
): Promise<ReadonlyMap<string, Outcome>> {
  const suites = new Map(bugs.map(({ caughtBy }) => [JSON.stringify(caughtBy), caughtBy]));
  const red = new Map<string, Outcome>();
  await shared(trees, [...suites], async (tree, [name, suite]) => {
    const outcome = await runSuite(tree, suite);
    if (outcome.red || outcome.passed === 0) red.set(name, outcome);
  });
  return red;
}

/** Tells of each bug as soon as its fate is known. */
export async function huntAll(
  trees: readonly ScratchTree[],
  bugs: readonly PlantedBug[],
  told: (verdict: Verdict) => void,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  await shared(trees, bugs, async (tree, bug) => {
    const { red, noticed, seconds } = await tree.with(bug, () => runSuite(tree, bug.caughtBy));
    const verdict = { bug, caught: red, noticed, seconds };
    verdicts.push(verdict);
    told(verdict);
  });
  return verdicts;
}

/** Each tree takes the next one when it has done one. */
async function shared<T>(
  trees: readonly ScratchTree[],
  items: readonly T[],
  work: (tree: ScratchTree, item: T) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  await Promise.all(
    trees.map(async (tree) => {
      for (const item of queue) await work(tree, item);
    }),
  );
}
