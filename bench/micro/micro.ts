/** A workload on one part, in memory: tinybench runs each side for a moment, over and over, in every round. */
import { Bench } from 'tinybench';
import { takeTurns, type Values, type Workload } from '../workload.ts';

export interface MicroSides {
  /** Does the work of one iteration. */
  readonly millrace: () => unknown;
  readonly floor: () => unknown;
}

export interface Micro {
  readonly name: string;
  readonly what: string;
  readonly floor: string;
  /** Bytes of an iteration, or items. */
  readonly amount: { readonly bytes: number } | { readonly items: number };
  readonly prepare: () => MicroSides | Promise<MicroSides>;
}

/** Milliseconds of a side in a round. */
const TIME = 250;
const TIME_QUICK = 25;
const ITERATIONS_MIN = 16;
const NANOSECONDS_PER_MILLISECOND = 1e6;
const MILLISECONDS_PER_SECOND = 1_000;

export function micro({ name, what, floor, amount, prepare }: Micro): Workload {
  const valueOf = (milliseconds: number): number =>
    'bytes' in amount
      ? (amount.bytes / milliseconds) * MILLISECONDS_PER_SECOND
      : (milliseconds * NANOSECONDS_PER_MILLISECOND) / amount.items;
  return {
    name: `micro-${name}`,
    what,
    floor,
    figures: [
      'bytes' in amount
        ? { name: 'rate', unit: 'bytes/s', better: 'higher' }
        : { name: 'time', unit: 'ns', better: 'lower' },
    ],
    prepare: async ({ quick }) => {
      const sides = await prepare();
      const time = quick ? TIME_QUICK : TIME;
      const run = async (work: () => unknown): Promise<Values> => {
        const value = valueOf(await medianTime(work, time));
        return { rate: value, time: value };
      };
      return {
        round: takeTurns(
          () => run(sides.floor),
          () => run(sides.millrace),
        ),
        close: async () => undefined,
      };
    },
  };
}

/** Milliseconds of one iteration. */
async function medianTime(work: () => unknown, time: number): Promise<number> {
  const bench = new Bench({
    time,
    warmupTime: time / 4,
    iterations: ITERATIONS_MIN,
    warmupIterations: 1,
    throws: true,
  });
  bench.add('work', work);
  const [task] = await bench.run();
  const result = task?.result;
  if (result?.state !== 'completed') throw new Error(`tinybench ended in the state ${result?.state ?? 'unknown'}`);
  return result.latency.p50;
}
