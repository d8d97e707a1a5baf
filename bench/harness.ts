/** Measures one workload: warm-up rounds that are thrown away, then rounds in which both sides take turns. */
import type { FigureResult, WorkloadResult } from './results.ts';
import type { Round, Session, Setting, Workload } from './workload.ts';

const WARM_UPS_DEFAULT = 1;

/** Runs in the process of the workload. Throws what the workload throws. */
export async function measure(workload: Workload, setting: Setting, rounds: number): Promise<WorkloadResult> {
  const begun = performance.now();
  const session = await workload.prepare(setting);
  try {
    for (let warmUp = 0; warmUp < (workload.warmUps ?? WARM_UPS_DEFAULT); warmUp += 1) await session.round();
    const taken = await takeRounds(session, Math.min(rounds, workload.roundsMax ?? rounds));
    const series = session.series?.();
    return {
      name: workload.name,
      what: workload.what,
      floor: workload.floor,
      figures: workload.figures.map((figure) => ({ ...figure, ...samplesOf(figure.name, taken) })),
      ...(series === undefined ? {} : { series }),
      seconds: (performance.now() - begun) / 1_000,
    };
  } finally {
    await session.close();
  }
}

async function takeRounds(session: Session, rounds: number): Promise<Round[]> {
  const taken: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    // Garbage of a round is not the next one's to collect.
    (globalThis as { gc?: () => void }).gc?.();
    taken.push(await session.round());
  }
  return taken;
}

function samplesOf(name: string, rounds: readonly Round[]): Pick<FigureResult, 'millrace' | 'floor'> {
  return {
    millrace: rounds.map(({ millrace }) => {
      const value = millrace[name];
      if (value === undefined) throw new Error(`a round has no value for the figure ${name}`);
      return value;
    }),
    floor: rounds.flatMap(({ floor }) => floor[name] ?? []),
  };
}
