/** A sender in another thread, as the command sees it. */
import { Worker } from 'node:worker_threads';
import { WORKER_ARGUMENTS, workerFiles } from '../../thread/worker-files.ts';
import type { ProducerHandle } from '../../store/producers/handle.ts';
import { TimeHistogram } from './histogram.ts';
import type { Segment } from './profile.ts';
import { addCounts, type LoadSource, newCounts, type SenderCounts } from './sender.ts';
import type { LoadOrder, LoadReply, LoadThreadData } from './thread-messages.ts';

export class ThreadSender implements LoadSource {
  readonly #worker: Worker;
  readonly #ready: Promise<void>;
  #counts: SenderCounts = newCounts();
  #inFlight = 0;
  #unsent = 0;
  #done: () => void = () => undefined;
  #failed: (error: unknown) => void = () => undefined;

  private constructor(data: LoadThreadData, handle: ProducerHandle) {
    this.#worker = new Worker(workerFiles.load, {
      workerData: data,
      transferList: handle.transferList,
      name: 'millrace-load',
      execArgv: WORKER_ARGUMENTS,
    });
    this.#ready = this.#awaited();
    this.#worker.on('message', (reply: LoadReply) => {
      this.#receive(reply);
    });
    this.#worker.on('error', (error) => {
      this.#failed(error);
    });
  }

  /** Resolves when the thread has its streams. */
  static async start(data: LoadThreadData): Promise<ThreadSender> {
    const sender = new ThreadSender(data, data.handle);
    await sender.#ready;
    return sender;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get unsent(): number {
    return this.#unsent;
  }

  takeCounts(): SenderCounts {
    const counts = this.#counts;
    this.#counts = newCounts();
    return counts;
  }

  /** As `Sender.run`, with a schedule of its own. */
  async run(segments: readonly Segment[], start: number, signal: AbortSignal): Promise<void> {
    const done = this.#awaited();
    const stop = (): void => {
      this.#order({ type: 'stop' });
    };
    this.#order({ type: 'run', segments, start });
    signal.addEventListener('abort', stop, { once: true });
    try {
      await done;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #awaited(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#done = resolve;
      this.#failed = reject;
    });
  }

  #order(order: LoadOrder): void {
    this.#worker.postMessage(order);
  }

  #receive(reply: LoadReply): void {
    if (reply.type !== 'counts') {
      this.#done();
      return;
    }
    const { sent, acknowledged, failed, inFlight, unsent } = reply;
    const [latency, lateness] = [TimeHistogram.unpack(reply.latency), TimeHistogram.unpack(reply.lateness)];
    addCounts(this.#counts, { sent, acknowledged, failed: new Map(failed), latency, lateness });
    this.#inFlight = inFlight;
    this.#unsent = unsent;
  }
}
