/** The other end of `producer-thread.ts`. */
import { Worker } from 'node:worker_threads';
import type { ProducerOptions, Store } from '../../../src/index.ts';

export type Order =
  | { readonly type: 'stream' | 'release'; readonly name: string }
  | { readonly type: 'append'; readonly name: string; readonly values: readonly string[] }
  /** `done` is counted up at the acknowledgement, for a thread that is blocked. */
  | {
      readonly type: 'appendMany';
      readonly name: string;
      readonly values: readonly string[];
      readonly done?: Int32Array;
    }
  | { readonly type: 'publish'; readonly name: string; readonly reference: string; readonly ids: readonly number[] }
  | { readonly type: 'close' }
  | { readonly type: 'spin'; readonly milliseconds: number };

export interface Answer {
  readonly id: number;
  readonly value?: unknown;
  /** Of an error. */
  readonly code?: string;
}

export class ProducerWorker {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #last = 0;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('message', (answer: Answer) => {
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
  }

  static async start(store: Store, options: ProducerOptions = {}): Promise<ProducerWorker> {
    const handle = await store.producer(options);
    const worker = new Worker(new URL('./producer-thread.js', import.meta.url), {
      workerData: { handle },
      transferList: handle.transferList,
    });
    const started = new ProducerWorker(worker);
    await new Promise<void>((resolve, reject) => {
      started.#waiting.set(0, () => {
        resolve();
      });
      worker.once('error', reject);
    });
    return started;
  }

  /** Resolves with what came of it; rejects with the code of its error. */
  async do(order: Order): Promise<unknown> {
    this.#last += 1;
    const id = this.#last;
    const answer = await new Promise<Answer>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#worker.postMessage({ ...order, id });
    });
    if (answer.code !== undefined) throw Object.assign(new Error(answer.code), { code: answer.code });
    return answer.value;
  }

  /** As a crash of the thread would: nothing is closed. */
  async kill(): Promise<void> {
    await this.#worker.terminate();
  }
}
