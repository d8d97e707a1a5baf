/** The producer of the comparison: a closed loop with a window, in groups, the same for every peer. */
import type { PeerLog, PeerOptions } from './peer.ts';

export interface IngestLimits {
  /** Records in flight. */
  readonly window: number;
  readonly groups: 1 | 2;
  readonly streams: number;
  /** The run ends with whichever comes first. */
  readonly records: number;
  readonly seconds: number;
}

export interface Ingested {
  readonly records: number;
  readonly seconds: number;
  /** Milliseconds from append to acknowledgement. */
  readonly p50: number;
  readonly p99: number;
}

/** Records that were handed over together, and how many of them are not acknowledged yet. */
interface Group {
  readonly at: number;
  left: number;
}

export class Producer {
  /** What a peer reports to. */
  readonly answers: Pick<PeerOptions, 'acknowledged' | 'failed'> = {
    acknowledged: (count) => {
      this.#acknowledge(count);
    },
    failed: (error) => {
      this.#settle?.reject(error);
    },
  };
  readonly #pool: readonly Buffer[];
  readonly #groups: Group[] = [];
  #log: PeerLog | undefined;
  #limits: IngestLimits | undefined;
  #begun = 0;
  #appended = 0;
  #acknowledged = 0;
  /** Of this turn, which are in no latency yet. */
  #answered = 0;
  #scheduled = false;
  /** Of all runs: a peer's numbering goes on from run to run. */
  #nextStream = 0;
  #latencies: { milliseconds: number; records: number }[] = [];
  #settle: { resolve: (ingested: Ingested) => void; reject: (error: unknown) => void } | undefined;

  constructor(pool: readonly Buffer[]) {
    this.#pool = pool;
  }

  /** One run at a time. Resolves when everything appended is acknowledged. */
  run(log: PeerLog, limits: IngestLimits): Promise<Ingested> {
    this.#log = log;
    this.#limits = limits;
    this.#appended = 0;
    this.#acknowledged = 0;
    this.#answered = 0;
    this.#latencies = [];
    this.#begun = performance.now();
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#schedule();
    });
  }

  /** A peer may call this for each record: it costs next to nothing, or that would count as the peer's. */
  #acknowledge(count: number): void {
    this.#acknowledged += count;
    this.#answered += count;
    this.#schedule();
  }

  /** One reading of the clock for all that was acknowledged in a turn. */
  #measure(): void {
    const now = performance.now();
    while (this.#answered > 0) {
      const group = this.#groups[0];
      if (group === undefined) throw new Error('more was acknowledged than was appended');
      const records = Math.min(this.#answered, group.left);
      this.#latencies.push({ milliseconds: now - group.at, records });
      group.left -= records;
      this.#answered -= records;
      if (group.left === 0) this.#groups.shift();
    }
  }

  /** Acknowledgements of one turn are answered together: peers that want batches get them. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(() => {
      this.#scheduled = false;
      try {
        this.#refill();
      } catch (error) {
        this.#settle?.reject(error);
      }
    });
  }

  #refill(): void {
    this.#measure();
    const { window, groups, records, seconds } = this.#limits!;
    const groupSize = Math.ceil(window / groups);
    const elapsed = (performance.now() - this.#begun) / 1_000;
    const inFlight = this.#appended - this.#acknowledged;
    const free = elapsed >= seconds ? 0 : Math.min(window - inFlight, records - this.#appended);
    if (free > 0) {
      this.#append(Math.min(free, groupSize));
      if (free > groupSize) this.#schedule();
    } else if (inFlight === 0) {
      this.#settle?.resolve(this.#ingested(elapsed));
    }
  }

  #append(count: number): void {
    const mask = this.#pool.length - 1;
    const values = Array.from({ length: count }, (_, index) => this.#pool[(this.#appended + index) & mask]!);
    const firstStream = this.#nextStream;
    this.#appended += count;
    this.#nextStream = (firstStream + count) % this.#limits!.streams;
    this.#groups.push({ at: performance.now(), left: count });
    this.#log!.append(values, firstStream);
  }

  #ingested(seconds: number): Ingested {
    this.#latencies.sort((left, right) => left.milliseconds - right.milliseconds);
    return { records: this.#acknowledged, seconds, p50: this.#latencyAt(0.5), p99: this.#latencyAt(0.99) };
  }

  /** Latency that `share` of all records do not exceed; the latencies are sorted. */
  #latencyAt(share: number): number {
    let passed = 0;
    for (const { milliseconds, records } of this.#latencies) {
      passed += records;
      if (passed >= this.#acknowledged * share) return milliseconds;
    }
    return 0;
  }
}
