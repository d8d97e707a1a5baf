/** The kinds of work that processes are killed in, each with the threads and files that a program has. */
import type { OpenOptions, Retention, StreamOptions } from '../../src/index.ts';

/** What goes on in a process, each in a loop of its own. */
export type ActorName = 'append' | 'group' | 'publish' | 'store-offsets' | 'flush' | 'trim' | 'compact' | 'follow';

/** What is done to a stream that one actor has to itself, one step after the other. */
export type StepKind = 'append' | 'truncate' | 'trim' | 'delete' | 'configure';

export interface Workload {
  /** Streams that all actors share. */
  readonly shared: number;
  /** Actors by name; several of a name are at work at once. */
  readonly actors: readonly ActorName[];
  /** Streams that have an actor of their own, which takes these steps. Default none. */
  readonly owned?: {
    readonly streams: number;
    readonly steps: readonly StepKind[];
    /** Records have few keys, and compaction keeps the latest of each. Default false. */
    readonly keyed?: boolean;
  };
  /** Streams that other threads append to, each thread through a lane of its own. Default none. */
  readonly produced?: {
    readonly streams: number;
    readonly threads: number;
    /** A stream is given back, and taken again, after so many bursts. Default 5. */
    readonly held?: number;
  };
  /** Of all streams whose records have no keys. Default: nothing goes by itself. */
  readonly retention?: Retention;
  /** Appending actors rest for up to so many milliseconds between two bursts. Default 0. */
  readonly rest?: number;
  /** Without a WAL, and with objects in a directory. Default false. */
  readonly diskless?: boolean;
  /** Another process reads all the while. Default false. */
  readonly reader?: boolean;
  /** How long a process works at most before it is killed, in milliseconds: merges need company. Default 250. */
  readonly work?: number;
  /** The first process of each store is killed early, and each process may want another ring. Default false. */
  readonly births?: boolean;
}

const APPENDS: readonly ActorName[] = ['append', 'append', 'append', 'group', 'group', 'group'];

/** Steps of streams that grow, are trimmed at times, and rarely begin anew. */
const GROWTH: readonly StepKind[] = [...Array.from({ length: 120 }, () => 'append' as const), 'trim', 'trim', 'delete'];

export const WORKLOADS: Readonly<Record<string, Workload>> = {
  everything: {
    shared: 12,
    actors: [...APPENDS, 'publish', 'store-offsets', 'flush', 'trim', 'compact'],
    owned: { streams: 3, steps: ['append', 'append', 'truncate', 'trim', 'configure', 'delete'] },
  },
  appends: { shared: 6, actors: ['append', 'append', 'append', 'append', 'append', 'append'] },
  groups: { shared: 6, actors: ['group', 'group', 'group', 'group'] },
  publishers: { shared: 8, actors: ['publish', 'flush'] },
  'consumer offsets': { shared: 6, actors: ['append', 'store-offsets', 'flush'] },
  flushes: { shared: 4, actors: ['append', 'group', 'flush', 'flush', 'flush'] },
  merges: { shared: 6, actors: [...APPENDS, 'flush', 'compact', 'compact'], work: 1_000 },
  keys: {
    shared: 2,
    actors: ['append', 'flush', 'flush', 'compact', 'compact'],
    owned: { streams: 6, steps: ['append'], keyed: true },
    work: 2_000,
  },
  lanes: {
    shared: 3,
    actors: ['append', 'group', 'flush', 'compact'],
    produced: { streams: 4, threads: 2 },
    work: 1_000,
  },
  trims: {
    shared: 6,
    actors: ['append', 'group', 'trim', 'trim', 'flush'],
    owned: { streams: 3, steps: ['append', 'append', 'trim'] },
  },
  truncations: {
    shared: 2,
    actors: ['append', 'flush'],
    owned: { streams: 6, steps: ['append', 'append', 'truncate'] },
  },
  deletions: { shared: 2, actors: ['append', 'flush'], owned: { streams: 6, steps: ['append', 'append', 'delete'] } },
  settings: { shared: 2, actors: ['append', 'flush'], owned: { streams: 6, steps: ['append', 'configure'] } },
  'many streams': { shared: 200, actors: [...APPENDS, ...APPENDS, 'flush', 'compact'] },
  'a reader beside': { shared: 6, actors: [...APPENDS, 'publish', 'flush', 'compact'], reader: true },
  births: { shared: 3, actors: ['append', 'flush'], births: true },
  endless: {
    shared: 8,
    actors: ['append', 'append', 'group', 'group', 'publish', 'store-offsets', 'follow'],
    owned: { streams: 3, steps: GROWTH, keyed: true },
    produced: { streams: 4, threads: 2, held: 100 },
    retention: { maxBytes: 512 * 1024 },
    rest: 30,
    work: 1_000,
  },
  'no WAL': {
    shared: 6,
    actors: [...APPENDS, 'publish', 'store-offsets', 'flush', 'trim', 'compact'],
    owned: { streams: 3, steps: ['append', 'append', 'trim', 'configure', 'delete'] },
    diskless: true,
  },
};

export function workloadNamed(name: string): Workload {
  const workload = WORKLOADS[name];
  if (workload !== undefined) return workload;
  throw new Error(`there is no workload ${name}; there are: ${Object.keys(WORKLOADS).join(', ')}`);
}

export function sharedNames({ shared }: Workload): string[] {
  return Array.from({ length: shared }, (_, index) => `stream-${index}`);
}

export function ownedNames({ owned }: Workload): string[] {
  return Array.from({ length: owned?.streams ?? 0 }, (_, index) => `owned-${index}`);
}

export function producedNames({ produced }: Workload): string[] {
  return Array.from({ length: produced?.streams ?? 0 }, (_, index) => `produced-${index}`);
}

/** Of shared and produced streams. */
export function streamOptions({ retention }: Workload): StreamOptions {
  return retention === undefined ? {} : { retention };
}

/** How the store of a workload is opened, by the process that is killed and by the one that checks. */
export function openOptions({ diskless = false }: Workload, options: OpenOptions): OpenOptions {
  return diskless ? { ...options, wal: false, diskless: { interval: 5, slotBytes: 64 * 1024 } } : options;
}
