/**
 * A long mixed load on one store: process after process works on it and is killed, closed, or stopped by a full disk;
 * each time another one reopens the store and holds it against everything that was acknowledged.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { SeededRandom } from '../../src/base/random.ts';
import { machineFacts } from '../../src/cli/machine.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { open } from '../../src/index.ts';
import { checkStore } from '../kill/campaign-round.ts';
import { Expectation } from '../kill/expectation.ts';
import type { Sample } from '../kill/sampler.ts';
import { live } from '../kill/survival.ts';
import { codeOf, type Survival } from '../kill/survivor.ts';
import { workloadNamed } from '../kill/workloads.ts';
import { directoryUsage } from './directory-usage.ts';
import { nextLife, type PlannedLife } from './plan.ts';
import type { Life, SoakResult, SoakSample } from './result.ts';
import type { Room } from './room.ts';

const WORKLOAD = 'endless';
const WAL = { slots: 4, slotBytes: 1024 * 1024, flushInterval: 500 };
/** Objects are small, replaced early and deleted soon after: an hour has as many merges as weeks elsewhere. */
const COMPACTION = {
  interval: 500,
  minFirstGenerationAge: 1_000,
  maxFirstGenerationAge: 5_000,
  targetBytes: 2 * 1024 * 1024,
  deleteGrace: 1_000,
};
/** How long a full disk may go unnoticed: until the next flush, on a machine that does much else. */
const NOTICE = 90_000;
const FULL = /^ERR_MILLRACE_(DISK_FULL|WRITE_FAILED)$/;

export interface SoakOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly room: Room;
  /** For rules and notes. */
  readonly scratch: string;
  /** Ends the soak early, though not its checks. */
  readonly interrupted?: AbortSignal;
  readonly progress?: (life: Life) => void;
}

/** Never rejects: what goes wrong is in the result. */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const { seed, minutes, room } = options;
  await loadChecksum();
  const soak = new Soak(options);
  const startedAt = new Date().toISOString();
  const failure = await soak.run().then(
    () => undefined,
    (error: unknown) => inspect(error),
  );
  const { lives, samples, records, seconds } = soak;
  const machine = machineFacts(room.path);
  const { how, reason } = room;
  return { seed, minutes, startedAt, seconds, machine, how, reason, lives, samples, records, failure };
}

class Soak {
  readonly lives: Life[] = [];
  readonly samples: SoakSample[] = [];
  readonly #options: SoakOptions;
  readonly #dir: string;
  readonly #random: SeededRandom;
  readonly #expectation: Expectation = new Expectation(workloadNamed(WORKLOAD));
  readonly #start: number = performance.now();

  constructor(options: SoakOptions) {
    this.#options = options;
    this.#dir = join(options.room.path, 'store');
    this.#random = new SeededRandom(options.seed);
  }

  get seconds(): number {
    return (performance.now() - this.#start) / 1_000;
  }

  get records(): number {
    return this.#expectation.records;
  }

  async run(): Promise<void> {
    const { minutes, room, interrupted, progress } = this.#options;
    for (let number = 0; interrupted?.aborted !== true; number += 1) {
      const full = room.how !== undefined;
      const planned = nextLife({ number, elapsed: this.seconds, total: 60 * minutes, full }, this.#random);
      if (planned === undefined) break;
      const life = await this.#live(planned);
      this.lives.push(life);
      progress?.(life);
    }
    await this.#checkLeftovers();
  }

  async #live(planned: PlannedLife): Promise<Life> {
    const { room, scratch, interrupted } = this.#options;
    const { ending, seconds } = planned;
    const startedAt = this.seconds;
    const work = 1_000 * seconds;
    const kill = new AbortController();
    const interrupt = (): void => kill.abort();
    interrupted?.addEventListener('abort', interrupt);
    const timers: NodeJS.Timeout[] = [];
    const survival = await live({
      trial: {
        dir: this.#dir,
        workload: WORKLOAD,
        seed: this.#random.uint32(),
        wal: WAL,
        options: { compaction: COMPACTION },
        // The others are ended from outside, or end by themselves.
        milliseconds: ending === 'close' ? work : work + NOTICE,
        sampled: true,
      },
      scratch,
      expectation: this.#expectation,
      kill: kill.signal,
      ...(ending === 'full' ? { environment: room.environment } : {}),
      opened: () => {
        if (ending === 'kill') timers.push(setTimeout(() => kill.abort(), work));
        if (ending === 'full') timers.push(setTimeout(() => room.fill(), work));
      },
      sampled: (sample) => this.#sampled(sample),
    });
    for (const timer of timers) clearTimeout(timer);
    interrupted?.removeEventListener('abort', interrupt);
    if (survival !== undefined || ending === 'kill') checkEnd(planned, survival);
    else assert.ok(kill.signal.aborted);
    const endedAt = this.seconds;
    const openedFull = ending === 'full' ? await this.#openFull() : undefined;
    room.free();
    await checkStore(WORKLOAD, this.#dir, this.#expectation);
    return {
      ending,
      startedAt,
      endedAt,
      checkedAt: this.seconds,
      records: this.records,
      errors: survival?.errors ?? [],
      ...(openedFull === undefined ? {} : { openedFull }),
      checker: { descriptors: descriptors(), residentBytes: process.memoryUsage().rss },
    };
  }

  #sampled({ type: _type, starts: _starts, ...sample }: Sample): void {
    this.samples.push({
      ...sample,
      seconds: this.seconds,
      life: this.lives.length,
      ...directoryUsage(this.#dir),
    });
  }

  /** A store whose disk is full may open or not; it says why, and loses nothing over it. */
  async #openFull(): Promise<string> {
    try {
      await (await open({ dir: this.#dir, wal: WAL })).close();
      return 'opened';
    } catch (error) {
      const code = codeOf(error);
      assert.doesNotMatch(code, /^uncoded/);
      return code;
    }
  }

  /** Nothing is left of all who were killed. */
  async #checkLeftovers(): Promise<void> {
    const store = await open({ dir: this.#dir });
    try {
      const { orphans, young, unfinished } = await store.removeOrphans({ dryRun: true });
      assert.deepEqual([orphans, young, unfinished], [0, 0, 0], 'no object is left that nobody knows');
    } finally {
      await store.close();
    }
  }
}

function checkEnd({ ending }: PlannedLife, survival: Survival | undefined): void {
  if (ending === 'kill') {
    assert.equal(survival, undefined, `the process ended by itself: ${survival?.errors.join(', ')}`);
  } else if (ending === 'close') {
    assert.deepEqual([survival?.errors, survival?.append, survival?.close], [[], 'appended', 'closed']);
  } else {
    assert.ok((survival?.errors.length ?? 0) > 0, 'a full disk stops the store');
    for (const error of survival?.errors ?? []) assert.match(error, FULL);
  }
}

function descriptors(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0;
}
