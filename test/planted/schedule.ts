/** Plants the bugs one after the other, in as many trees as are given, and asks who has to notice. */
import type { PlantedBug, Suite } from './bug.ts';
import { type Outcome, runSuite } from './run.ts';
import type { ScratchTree } from './tree.ts';

export interface Verdict {
  readonly bug: PlantedBug;
  readonly caught: boolean;
  /** The test that failed first. */
  readonly noticed: string;
  readonly seconds: number;
}

/** Of a suite with a bug in it, in seconds: this, and so many times what it takes without one. */
const PATIENCE = 40;
const TIMES_GREEN = 20;

/** Runs every suite that the bugs name, without a bug; by name. */
export async function runGreen(
  trees: readonly ScratchTree[],
  bugs: readonly PlantedBug[],
): Promise<ReadonlyMap<string, Outcome>> {
  const suites = new Map(bugs.map(({ caughtBy }) => [suiteName(caughtBy), caughtBy]));
  const outcomes = new Map<string, Outcome>();
  await shared(trees, [...suites], async (tree, [name, suite]) => {
    outcomes.set(name, await runSuite(tree, suite));
  });
  return outcomes;
}

/** `green`: the suites without a bug. Tells of each bug as soon as its fate is known. */
export async function huntAll(
  trees: readonly ScratchTree[],
  bugs: readonly PlantedBug[],
  green: ReadonlyMap<string, Outcome>,
  told: (verdict: Verdict) => void,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  await shared(trees, bugs, async (tree, bug) => {
    const patience = PATIENCE + TIMES_GREEN * (green.get(suiteName(bug.caughtBy))?.seconds ?? 0);
    const { red, noticed, seconds } = await tree.with(bug, () => runSuite(tree, bug.caughtBy, patience));
    const verdict = { bug, caught: red, noticed, seconds };
    verdicts.push(verdict);
    told(verdict);
  });
  return verdicts;
}

function suiteName({ file, only }: Suite): string {
  return `${file}: ${only}`;
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
