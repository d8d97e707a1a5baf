/** A store that is opened again after a crash, and held against what was acknowledged before it. */
import assert from 'node:assert/strict';
import type { Store } from '../../src/index.ts';
import { openIn } from '../../src/store/open.ts';
import { type Survival, survivingPages } from '../../src/testing/disk/power-loss.ts';
import type { DiskReads } from '../../src/testing/disk/reads.ts';
import { type DiskSnapshot, SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { type RingSupply, SimulatedEnvironment } from '../../src/testing/simulated-environment.ts';
import { SimulatedTime } from '../../src/testing/simulated-time.ts';
import { checkStore, type Floor, lookAt, type SeenStore } from './check.ts';
import type { Oracle } from './oracle.ts';
import type { Mode } from './steps.ts';
import { DIRECTORY, optionsFor, settle } from './worker.ts';

/** A moment at which a store crashes. */
export interface CrashPoint {
  readonly snapshot: DiskSnapshot;
  readonly oracle: Oracle;
  /** Of the oracle. */
  readonly moment: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly slots: number;
}

/** Of a process that is killed: the disk goes on as it is. */
export const KILL: Survival = survivingPages(() => true);

/** The disk that a killed process leaves. What was not synced is there, and a loss of power may still take it. */
export function killed(snapshot: DiskSnapshot): SimulatedDisk {
  return new SimulatedDisk(snapshot.options, snapshot);
}

export interface RecoveryOptions {
  readonly mode: Mode;
  readonly point: CrashPoint;
  /** What is left of the disk; it stays as it is. */
  readonly disk: SimulatedDisk;
  readonly seed: number;
  readonly rings: RingSupply;
  /** What an earlier opening of the same state showed. */
  readonly floor?: Floor | undefined;
  /** The store is written to, verified, closed and opened again. */
  readonly goOn?: boolean;
}

/** A step of the disk during a recovery; `served`: the store was open by then. */
export interface RecoveryStep {
  readonly snapshot: DiskSnapshot;
  readonly served: boolean;
  readonly during: string;
}

/** Opens a store and reads all of it. `reads` is told what of its disk that takes. */
export async function openAndLook(
  options: RecoveryOptions,
  keep: (text: string) => string,
  reads: DiskReads,
): Promise<{ readonly seen: SeenStore; readonly calls: number }> {
  const recovery = new Recovery(options);
  recovery.disk.reads = reads;
  try {
    const seen = await lookAt(await recovery.open(), keep);
    return { seen, calls: recovery.disk.calls };
  } finally {
    recovery.end();
  }
}

/** Resolves with what the store holds; rejects when that is not what it has to hold. */
export async function recover(options: RecoveryOptions): Promise<Floor> {
  const recovery = new Recovery(options);
  try {
    const store = await recovery.open();
    const { oracle, moment } = options.point;
    const found = await checkStore(store, oracle, moment, options.floor);
    if (options.goOn === true) await recovery.goOn(store, found);
    return found;
  } finally {
    recovery.end();
  }
}

/** Opens, flushes and closes; resolves with every step of the disk. */
export async function recordRecovery(options: RecoveryOptions): Promise<RecoveryStep[]> {
  const recovery = new Recovery(options);
  const steps: RecoveryStep[] = [];
  let served = false;
  recovery.disk.onStep = ({ operation, path }) => {
    steps.push({ snapshot: recovery.disk.snapshot(), served, during: `${operation} ${path}` });
  };
  const store = await recovery.open();
  served = true;
  await recovery.settle(store.flush());
  await recovery.settle(store.close());
  recovery.end();
  return steps;
}

class Recovery {
  readonly disk: SimulatedDisk;
  readonly #options: RecoveryOptions;
  readonly #environment: SimulatedEnvironment;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    const { point, disk, seed, rings } = options;
    this.disk = disk.copy();
    const time = new SimulatedTime(point.now);
    this.#environment = new SimulatedEnvironment({ fileSystem: this.disk, time, seed, rings });
  }

  open(): Promise<Store> {
    const { mode, point } = this.#options;
    return this.settle(openIn(this.#environment, optionsFor(mode, point.slots)));
  }

  settle<T>(promise: Promise<T>): Promise<T> {
    return settle(this.#environment.time, promise);
  }

  end(): void {
    this.disk.disconnect();
    this.#environment.dispose();
  }

  async goOn(store: Store, found: Floor): Promise<void> {
    const stream = await this.settle(store.stream('plain'));
    const { nextOffset } = await stream.info();
    assert.equal(await this.settle(stream.append('after the loss')), nextOffset, 'the stream goes on where it ends');
    await this.settle(store.flush());
    assert.deepEqual((await store.verify()).problems, []);
    await this.settle(store.close());
    assertNothingUnfinished(this.disk);
    assert.equal(this.disk.openHandles, 0, 'no file is left open');
    const again = await this.open();
    const record = await (await again.stream('plain')).get(nextOffset);
    assert.equal(record?.value?.toString(), 'after the loss');
    for (const [name, { records, firstOffset }] of found) {
      const { nextOffset: end, firstOffset: start } = await (await again.stream(name)).info();
      assert.equal(end, records.length + (name === 'plain' ? 1 : 0), `${name}: ends where it ended`);
      assert.ok(start >= firstOffset, `${name}: starts where it started`);
    }
    await this.settle(again.close());
  }
}

function assertNothingUnfinished(disk: SimulatedDisk): void {
  const unfinished: string[] = [];
  const visit = (path: string): void => {
    for (const name of disk.listSync(path)) {
      if (disk.statSync(`${path}/${name}`)?.kind === 'directory') visit(`${path}/${name}`);
      if (/\.tmp$|^wal\./.test(name)) unfinished.push(`${path}/${name}`);
    }
  };
  visit(DIRECTORY);
  assert.deepEqual(unfinished, [], 'nothing unfinished is left');
}
