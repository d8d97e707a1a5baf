/**
 * A system without threads for a store: its files are on a simulated disk, or wherever a `FileSystem` keeps them, time
 * is simulated, chance has a seed, and the WAL and the pool run in the thread of the application. With the same seed
 * and the same calls, all happens again in the same order.
 */
import type { FileSystem } from '../base/file-system.ts';
import { type Random, SeededRandom } from '../base/random.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { CONTROL_BYTES, checkGeometry, type RingGeometry } from '../ring/geometry.ts';
import type { JobPool, StoreEnvironment } from '../store/environment.ts';
import type { StoreLock } from '../store/lock.ts';
import type { WalRunner } from '../store/wal-runner.ts';
import { InProcessPool, type OpenObjects } from './in-process-pool.ts';
import { InProcessWal, type Schedule } from './in-process-wal.ts';
import { type ProcessTimers, SimulatedTime } from './simulated-time.ts';

/** What a simulated system is made of. */
export interface SimulatedEnvironmentOptions {
  /** Where the files are: a `SimulatedDisk`, or any other. */
  readonly fileSystem: FileSystem;
  /** What clocks and timers go by. Default a new one. */
  readonly time?: SimulatedTime;
  /** Of all random numbers. Default 1. */
  readonly seed?: number;
  /** When the WAL is written, once there is something to write. Default the next turn of the event loop. */
  readonly schedule?: Schedule;
  /** Opens object stores that are no directories, for pool jobs. Default by their descriptor's module. */
  readonly openObjects?: OpenObjects;
  /** Where rings come from. Default new memory. */
  readonly rings?: RingSupply;
}

/** Memory for rings that is used again: a campaign opens thousands of stores a second. */
export class RingSupply {
  readonly #idle: SharedArrayBuffer[] = [];

  /** Zeroed memory of that many bytes. */
  take(bytes: number): SharedArrayBuffer {
    const index = this.#idle.findIndex(({ byteLength }) => byteLength === bytes);
    const [ring] = index < 0 ? [] : this.#idle.splice(index, 1);
    if (ring === undefined) return new SharedArrayBuffer(bytes);
    new Uint8Array(ring).fill(0);
    return ring;
  }

  /** They are used again two turns later: a write that the dead store had scheduled still marks its ring as failed. */
  giveBack(rings: readonly SharedArrayBuffer[]): void {
    setImmediate(() => setImmediate(() => this.#idle.push(...rings)));
  }
}

/** Directories that are open for writing; a file system that takes another's place knows of none. */
const locked = new WeakMap<FileSystem, Set<string>>();

/** Everything that a store takes from its surroundings, simulated: one seed decides what happens. */
export class SimulatedEnvironment implements StoreEnvironment {
  /** Where the files of the store are. */
  readonly fileSystem: FileSystem;
  /** What clocks and timers go by; it stands still until it is told to go on. */
  readonly time: SimulatedTime;
  /** The source of all random numbers. */
  readonly random: Random;
  /** Timers of the process in which the store runs: `dispose` ends them. */
  readonly timers: ProcessTimers;
  /** Rings that were handed out. */
  readonly rings: SharedArrayBuffer[] = [];
  readonly #schedule: Schedule;
  readonly #supply: RingSupply;
  readonly #openObjects: OpenObjects | undefined;

  constructor(options: SimulatedEnvironmentOptions) {
    this.fileSystem = options.fileSystem;
    this.time = options.time ?? new SimulatedTime();
    this.timers = this.time.process();
    this.random = new SeededRandom(options.seed ?? 1);
    this.#schedule = options.schedule ?? setImmediate;
    this.#supply = options.rings ?? new RingSupply();
    this.#openObjects = options.openObjects;
  }

  /** As `time`. */
  get clock(): SimulatedTime {
    return this.time;
  }

  lock(directory: string): Promise<StoreLock> {
    const held = locked.get(this.fileSystem) ?? new Set();
    locked.set(this.fileSystem, held);
    if (held.has(directory)) {
      return Promise.reject(new MillraceError('ERR_MILLRACE_LOCKED', `${directory} is open for writing elsewhere`));
    }
    held.add(directory);
    const release = (): Promise<void> => {
      held.delete(directory);
      return Promise.resolve();
    };
    return Promise.resolve({ release });
  }

  /** Memory for a ring, from the supply. */
  allocateRing(geometry: RingGeometry): SharedArrayBuffer {
    checkGeometry(geometry);
    const ring = this.#supply.take(CONTROL_BYTES + geometry.slots * geometry.slotBytes);
    this.rings.push(ring);
    return ring;
  }

  /** A WAL that is written in this thread, when the schedule says. */
  makeWal(): WalRunner {
    return new InProcessWal(this.fileSystem, this.#schedule);
  }

  /** A pool whose jobs run in this thread. */
  makePool(): JobPool {
    const { fileSystem, clock, timers, random } = this;
    return new InProcessPool({ fileSystem, clock, timers, random, openObjects: this.#openObjects });
  }

  /** The process of this environment is dead, and its disk disconnected: its memory may be used again. */
  dispose(): void {
    this.timers.end();
    this.#supply.giveBack(this.rings.splice(0));
  }
}
