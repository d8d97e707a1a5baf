/** Where the WAL is written: a worker thread in production, in place in a simulation. */
import type { MillraceError } from '../errors/millrace-error.ts';
import type { Doorbell } from '../ring/doorbell.ts';
import type { WaitDurable } from '../stream/durability.ts';
import type { LaneAssignment } from '../wal/writer.ts';

export interface WalObserver {
  ready(mode: 'direct' | 'buffered'): void;
  /** Nothing more becomes durable. Called once. */
  failed(error: MillraceError): void;
}

/** Whoever writes the rings of a store to its WAL files. */
export interface WalRunner {
  /** Rung when there is something to write. */
  readonly doorbell: Pick<Doorbell, 'ring'>;
  /** The same for other threads. */
  readonly bell: SharedArrayBuffer;
  /** How producers wait for durability. Default: on the word in shared memory. */
  readonly waitDurable?: WaitDurable;
  start(directory: string, lanes: readonly LaneAssignment[], observer: WalObserver): void;
  /** Serves one more lane, whose files are there. */
  addLane(lane: LaneAssignment): Promise<void>;
  /** Keeps the process alive while an append waits, and lets it end otherwise. */
  keepAlive(waiting: boolean): void;
  /** Everything closed so far is durable when this resolves. */
  stop(): Promise<void>;
}
