/** What a workload is: figures with their targets, and a session that measures them round by round. */

/** How a figure is printed. Values are plain: records a second, bytes, seconds, unless the unit says otherwise. */
export type Unit =
  | 'records/s'
  | 'operations/s'
  | 'operations'
  | 'bytes/s'
  | 'ms'
  | 'us'
  | 'ns'
  | 'seconds'
  | 'bytes'
  | 'records'
  | 'share';

/** What of a figure a target or a check is about. */
export type Subject =
  /** millrace's value divided by the floor's. */
  | 'ratio'
  /** millrace's value less the floor's. */
  | 'difference'
  /** millrace's value alone. */
  | 'value';

export interface Target {
  readonly subject: Subject;
  readonly bound: 'at least' | 'at most';
  /** What has to be met. */
  readonly limit: number;
  /** What is hoped for. */
  readonly goal?: number;
}

export interface Figure {
  /** Key of the value in both sides of a round. */
  readonly name: string;
  readonly unit: Unit;
  readonly better: 'higher' | 'lower';
  readonly target?: Target;
}

/** Values of one side of a round, by figure. A floor leaves out what it cannot have. */
export type Values = Readonly<Record<string, number>>;

export interface Round {
  readonly millrace: Values;
  readonly floor: Values;
}

/** What a round shows over time, for plots. */
export interface Series {
  readonly name: string;
  /** The first column is seconds since the start. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly number[])[];
}

export interface Setting {
  /** An empty directory of this workload alone. */
  readonly dir: string;
  /** Everything small: shows that the suite works, and nothing else. */
  readonly quick: boolean;
  /** User bytes of the sustained workload. */
  readonly sustainedBytes: number;
}

/** A workload that is set up. */
export interface Session {
  /** Measures both sides once, close to each other. */
  round(): Promise<Round>;
  /** Of the last round. */
  series?(): Series;
  close(): Promise<void>;
}

export interface Workload {
  readonly name: string;
  /** What millrace does. */
  readonly what: string;
  /** What the floor does. */
  readonly floor: string;
  readonly figures: readonly Figure[];
  /** More rounds than this take too long. */
  readonly roundsMax?: number;
  /** Rounds that are thrown away: they compile the code and touch the memory. Default 1. */
  readonly warmUps?: number;
  prepare(setting: Setting): Promise<Session>;
}

/** Rounds in which the sides take turns at going first, so that neither always gets what the other leaves behind. */
export function takeTurns(
  floor: () => Values | Promise<Values>,
  millrace: () => Values | Promise<Values>,
): () => Promise<Round> {
  let floorFirst = true;
  return async () => {
    floorFirst = !floorFirst;
    if (!floorFirst) {
      const values = await millrace();
      return { millrace: values, floor: await floor() };
    }
    const values = await floor();
    return { floor: values, millrace: await millrace() };
  };
}
