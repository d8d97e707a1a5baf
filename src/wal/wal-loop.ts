/**
 * The life of the WAL worker: write what is closed, else sleep until the doorbell rings. It blocks on purpose: a commit
 * through the thread pool of libuv costs 70-120 us more than a blocking call.
 */
import type { Clock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import { NodeFileSystem } from '../base/node-file-system.ts';
import { loadChecksum } from '../codec/checksum.ts';
import { packError } from '../errors/millrace-error.ts';
import { Doorbell } from '../ring/doorbell.ts';
import type { WalReply, WalRequest, WalWorkerData } from './messages.ts';
import { type LaneAssignment, WalWriter } from './writer.ts';

/** How long the worker sleeps at most before it looks for messages. */
const SLEEP_MAX = 1_000;
/** Writes after which the worker looks for messages though there is more to write. */
const BUSY_STEPS_MAX = 64;

export interface WalPort {
  /** The next waiting message; `undefined` when there is none. */
  receive(): WalRequest | undefined;
  send(reply: WalReply): void;
}

/** Serves lanes step by step, and tells what becomes of them. The first failure ends it. */
export class WalService {
  readonly #writer: WalWriter;
  readonly #send: (reply: WalReply) => void;
  #ended = false;

  constructor(fileSystem: FileSystem, directory: string, send: (reply: WalReply) => void) {
    this.#writer = new WalWriter({ fileSystem, directory });
    this.#send = send;
  }

  /** It was stopped, or has failed. */
  get ended(): boolean {
    return this.#ended;
  }

  add(lane: LaneAssignment): void {
    this.#attempt(() => {
      this.#send({ type: 'ready', mode: this.#writer.addLane(lane).mode });
    });
  }

  /** Writes what is closed, once. Returns whether there was anything. */
  step(): boolean {
    let bytes = 0;
    this.#attempt(() => {
      bytes = this.#writer.step();
    });
    return bytes > 0;
  }

  /** Writes all that is closed, and ends. */
  stop(): void {
    this.#attempt(() => {
      while (this.#writer.step() > 0);
      this.#writer.close();
      this.#ended = true;
      this.#send({ type: 'stopped' });
    });
  }

  #attempt(work: () => void): void {
    if (this.#ended) return;
    try {
      work();
    } catch (error) {
      this.#ended = true;
      this.#send({ type: 'failed', error: packError(error, 'ERR_MILLRACE_WORKER_DIED') });
      this.#writer.fail();
    }
  }
}

/** Runs until it is told to stop, or something fails. Without a `clock` it sleeps as soon as nothing is left. */
export async function runWal(
  data: WalWorkerData,
  port: WalPort,
  fileSystem: FileSystem = new NodeFileSystem(),
  clock?: Clock,
): Promise<void> {
  await loadChecksum();
  const service = new WalService(fileSystem, data.directory, (reply) => {
    port.send(reply);
  });
  for (const lane of data.lanes) service.add(lane);
  const doorbell = new Doorbell(data.doorbell, clock);
  for (let busy = 0; !service.ended;) {
    const seen = doorbell.read();
    const wrote = service.step();
    busy = wrote ? busy + 1 : 0;
    if (wrote && busy % BUSY_STEPS_MAX !== 0) continue;
    const request = service.ended ? undefined : port.receive();
    if (request === undefined) {
      if (!wrote && !service.ended) doorbell.sleep(seen, SLEEP_MAX);
    } else if (request.type === 'add-lane') service.add(request.lane);
    else service.stop();
  }
}
