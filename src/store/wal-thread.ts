/** The WAL worker as the store sees it: started, watched, stopped. */
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { MillraceError, unpackError } from '../errors/millrace-error.ts';
import { allocateDoorbell, Doorbell } from '../ring/doorbell.ts';
import type { LaneAssignment } from '../wal/writer.ts';
import type { WalReply, WalRequest, WalWorkerData } from '../wal/messages.ts';
import { WORKER_ARGUMENTS, workerFiles } from '../thread/worker-files.ts';
import type { WalObserver, WalRunner } from './wal-runner.ts';

export class WalThread implements WalRunner {
  readonly bell: SharedArrayBuffer = allocateDoorbell();
  readonly doorbell: Doorbell = new Doorbell(this.bell);
  #worker: Worker | undefined;
  #observer: WalObserver | undefined;
  #ended = false;
  #failure: MillraceError | undefined;
  /** Whether an append waits. */
  #waiting = false;
  #onEnd: (() => void) | undefined;
  /** Lanes of the start that are not open yet: their replies come first. */
  #starting = 0;
  readonly #adding: { readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];

  start(directory: string, lanes: readonly LaneAssignment[], observer: WalObserver): void {
    this.#observer = observer;
    this.#starting = lanes.length;
    const workerData: WalWorkerData = { directory, doorbell: this.bell, lanes };
    const file = fileURLToPath(workerFiles.wal);
    const worker = new Worker(file, { workerData, name: 'millrace-wal', execArgv: WORKER_ARGUMENTS });
    this.#worker = worker;
    worker.on('message', (reply: WalReply) => {
      this.#receive(reply);
    });
    worker.on('error', (error: Error) => {
      this.#fail(died(error, file));
    });
    worker.on('exit', (status) => {
      this.#fail(died(new Error(`it exited with status ${status}`), file));
      this.#onEnd?.();
    });
    worker.unref();
  }

  keepAlive(waiting: boolean): void {
    this.#waiting = waiting;
    this.#keepAlive();
  }

  #keepAlive(): void {
    if (this.#ended) return;
    if (this.#waiting || this.#adding.length > 0 || this.#onEnd !== undefined) this.#worker?.ref();
    else this.#worker?.unref();
  }

  addLane(lane: LaneAssignment): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#ended) {
        reject(this.#failure ?? stopped());
        return;
      }
      this.#adding.push({ resolve, reject });
      this.#keepAlive();
      this.#send({ type: 'add-lane', lane });
    });
  }

  async stop(): Promise<void> {
    if (this.#ended || this.#worker === undefined) return;
    const ended = new Promise<void>((resolve) => {
      this.#onEnd = resolve;
    });
    this.#keepAlive();
    this.#send({ type: 'stop' });
    await ended;
  }

  #send(request: WalRequest): void {
    this.#worker?.postMessage(request);
    this.doorbell.ring();
  }

  #receive(reply: WalReply): void {
    if (reply.type === 'ready') {
      this.#observer?.ready(reply.mode);
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
    this.#failure = error;
    for (const { reject } of this.#adding.splice(0)) reject(error);
    this.#observer?.failed(error);
  }
}

function died(cause: Error, file: string): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_WORKER_DIED',
    `the WAL worker of ${file} ended: ${String(cause)}: appends that were not acknowledged may be lost; ` +
      'open the store again',
    { details: { file }, cause },
  );
}

function stopped(): MillraceError {
  return new MillraceError('ERR_MILLRACE_WORKER_DIED', 'the WAL worker was stopped: open the store again');
}
