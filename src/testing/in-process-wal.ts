/** The WAL worker's logic in the thread of the application: a write whenever something is closed, a turn later. */
import type { FileSystem } from '../base/file-system.ts';
import { Signal } from '../base/signal.ts';
import { MillraceError, unpackError } from '../errors/millrace-error.ts';
import { allocateDoorbell } from '../ring/doorbell.ts';
import type { WalObserver, WalRunner } from '../store/wal-runner.ts';
import type { WaitDurable } from '../stream/durability.ts';
import type { WalReply } from '../wal/messages.ts';
import { WalService } from '../wal/wal-loop.ts';
import type { LaneAssignment } from '../wal/writer.ts';

/** When the next write happens, seen from the moment at which there is something to write. */
export type Schedule = (work: () => void) => void;

export class InProcessWal implements WalRunner {
  readonly doorbell: { ring(): void } = {
    ring: () => {
      this.#rung();
    },
  };
  readonly bell: SharedArrayBuffer = allocateDoorbell();
  readonly #fileSystem: FileSystem;
  readonly #schedule: Schedule;
  readonly #stepped = new Signal();
  #service: WalService | undefined;
  #scheduled = false;

  constructor(fileSystem: FileSystem, schedule: Schedule) {
    this.#fileSystem = fileSystem;
    this.#schedule = schedule;
  }

  readonly waitDurable: WaitDurable = (words, seen) =>
    words.failed || words.durableBlocks(seen) > seen ? undefined : this.#stepped.wait();

  start(directory: string, lanes: readonly LaneAssignment[], observer: WalObserver): void {
    const service = new WalService(this.#fileSystem, directory, (reply) => {
      receive(reply, observer);
    });
    this.#service = service;
    // As from another thread: whoever starts it goes on first.
    this.#schedule(() => {
      for (const lane of lanes) service.add(lane);
      this.#rung();
    });
  }

  addLane(): Promise<void> {
    const message = 'a store without threads serves none: open it in the usual way for producers in other threads';
    return Promise.reject(new MillraceError('ERR_MILLRACE_UNSUPPORTED', message));
  }

  keepAlive(): void {
    // A write that is scheduled keeps the process alive.
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#schedule(() => {
        this.#service?.stop();
        this.#stepped.notify();
        resolve();
      });
    });
  }

  #rung(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#schedule(() => {
      this.#scheduled = false;
      if (this.#service?.step() === true) this.#rung();
      this.#stepped.notify();
    });
  }
}

function receive(reply: WalReply, observer: WalObserver): void {
  if (reply.type === 'ready') observer.ready(reply.mode);
  else if (reply.type === 'failed') observer.failed(unpackError(reply.error));
}
