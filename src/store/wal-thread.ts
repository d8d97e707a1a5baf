/** The WAL worker as the store sees it: started, watched, stopped. */
import { Worker } from 'node:worker_threads';
import { MillraceError, unpackError } from '../errors/millrace-error.ts';
import { Doorbell } from '../ring/doorbell.ts';
import type { LaneAssignment } from '../wal/writer.ts';
import type { WalReply, WalRequest, WalWorkerData } from '../wal/messages.ts';
import { WORKER_ARGUMENTS, workerFiles } from '../thread/worker-files.ts';

export interface WalThreadObserver {
  ready(mode: 'direct' | 'buffered'): void;
  /** Nothing more becomes durable. Called once. */
  failed(error: MillraceError): void;
}

export class WalThread {
  readonly #worker: Worker;
  readonly #doorbell: Doorbell;
  readonly #observer: WalThreadObserver;
  #ended = false;
  /** Whether an append waits. */
  #waiting = false;
  #onEnd: (() => void) | undefined;
  /** Lanes of the start that are not open yet: their replies come first. */
  #starting: number;
  readonly #adding: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];

  constructor(data: WalWorkerData, observer: WalThreadObserver) {
    this.#observer = observer;
    this.#starting = data.lanes.length;
    this.#doorbell = new Doorbell(data.doorbell);
    this.#worker = new Worker(workerFiles.wal, { workerData: data, name: 'millrace-wal', execArgv: WORKER_ARGUMENTS });
    this.#worker.on('message', (reply: WalReply) => {
      this.#receive(reply);
    });
    this.#worker.on('error', (error) => {
      this.#fail(died(error));
    });
    this.#worker.on('exit', () => {
      this.#fail(died(undefined));
      this.#onEnd?.();
    });
    this.#worker.unref();
  }

  /** Keeps the process alive while an append waits, and lets it end otherwise. */
  keepAlive(waiting: boolean): void {
    this.#waiting = waiting;
    this.#keepAlive();
  }

  #keepAlive(): void {
    if (this.#ended) return;
    if (this.#waiting || this.#adding.length > 0 || this.#onEnd !== undefined) this.#worker.ref();
    else this.#worker.unref();
  }

  /** Serves one more lane, whose files are there. */
  addLane(lane: LaneAssignment): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended) {
        reject(died(undefined));
        return;
      }
      this.#adding.push({ resolve, reject });
      this.#keepAlive();
      this.#send({ type: 'add-lane', lane });
    });
  }

  /** Everything closed so far is durable when this resolves. */
  async stop(): Promise<void> {
    if (this.#ended) return;
    const ended = new Promise<void>((resolve) => {
      this.#onEnd = resolve;
    });
    this.#keepAlive();
    this.#send({ type: 'stop' });
    await ended;
  }

  #send(request: WalRequest): void {
    this.#worker.postMessage(request);
    this.#doorbell.ring();
  }

  #receive(reply: WalReply): void {
    if (reply.type === 'ready') {
      this.#observer.ready(reply.mode);
      if (this.#starting > 0) this.#starting -= 1;
      else this.#adding.shift()?.resolve();
      this.#keepAlive();
    }
    if (reply.type === 'failed') this.#fail(unpackError(reply.error));
    if (reply.type === 'stopped') this.#ended = true;
  }

  #fail(error: MillraceError): void {
    if (this.#ended) return;
    this.#ended = true;
    for (const { reject } of this.#adding.splice(0)) reject(error);
    this.#observer.failed(error);
  }
}

function died(cause: unknown): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_WORKER_DIED',
    'the WAL worker ended: appends that were not acknowledged may be lost; open the store again',
    { cause },
  );
}
