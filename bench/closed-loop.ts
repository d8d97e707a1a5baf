/** A producer that keeps a fixed number of appends unacknowledged: the next one starts when one is acknowledged. */

export interface ClosedLoop {
  /** Appends in flight. */
  readonly window: number;
  /** Appends in total. */
  readonly count: number;
  /** Starts append `index` and resolves when it is durable. */
  readonly append: (index: number) => Promise<unknown>;
  /** One append in so many is timed: two readings of the clock cost as much as a small append. Default 1. */
  readonly timedEvery?: number;
}

export interface LoopResult {
  readonly seconds: number;
  /** Milliseconds from append to acknowledgement, of those that were timed. */
  readonly latencies: Float64Array;
}

/** Runs until all are acknowledged. Acknowledgements come in the order of the appends. */
export function runClosedLoop({ window, count, append, timedEvery = 1 }: ClosedLoop): Promise<LoopResult> {
  const latencies = new Float64Array(Math.ceil(count / timedEvery));
  const begun = performance.now();
  let appended = 0;
  let acknowledged = 0;
  return new Promise((resolve, reject) => {
    const next = (): void => {
      if (appended % timedEvery === 0) latencies[appended / timedEvery] = performance.now();
      appended += 1;
      append(appended - 1).then(done, reject);
    };
    const done = (): void => {
      if (acknowledged % timedEvery === 0) {
        const slot = acknowledged / timedEvery;
        latencies[slot] = performance.now() - latencies[slot]!;
      }
      acknowledged += 1;
      if (appended < count) next();
      else if (acknowledged === count) resolve({ seconds: (performance.now() - begun) / 1_000, latencies });
    };
    for (let index = Math.min(window, count); index > 0; index -= 1) next();
  });
}
