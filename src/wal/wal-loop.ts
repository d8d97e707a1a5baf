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
import { WalWriter } from './writer.ts';

/** How long the worker sleeps at most before it looks for messages. */
const SLEEP_MAX = 1_000;
/** Writes after which the worker looks for messages though there is more to write. */
const BUSY_STEPS_MAX = 64;

export interface WalPort {
  /** The next waiting message; `undefined` when there is none. */
  receive(): WalRequest | undefined;
  send(reply: WalReply): void;
}

/** Runs until it is told to stop, or something fails. Without a `clock` it sleeps as soon as nothing is left. */
export async function runWal(
  data: WalWorkerData,
  port: WalPort,
  fileSystem: FileSystem = new NodeFileSystem(),
  clock?: Clock,
): Promise<void> {
  await loadChecksum();
  const writer = new WalWriter({ fileSystem, directory: data.directory });
  try {
    for (const lane of data.lanes) port.send({ type: 'ready', mode: writer.addLane(lane).mode });
    serve(writer, new Doorbell(data.doorbell, clock), port);
    writer.close();
    port.send({ type: 'stopped' });
  } catch (error) {
    port.send({ type: 'failed', error: packError(error, 'ERR_MILLRACE_WORKER_DIED') });
    writer.fail();
  }
}

function serve(writer: WalWriter, doorbell: Doorbell, port: WalPort): void {
  for (let busy = 0; ;) {
    const seen = doorbell.read();
    const wrote = writer.step() > 0;
    busy = wrote ? busy + 1 : 0;
    if (wrote && busy % BUSY_STEPS_MAX !== 0) continue;
    const request = port.receive();
    if (request === undefined) {
      if (!wrote) doorbell.sleep(seen, SLEEP_MAX);
    } else if (request.type === 'add-lane') {
      port.send({ type: 'ready', mode: writer.addLane(request.lane).mode });
    } else {
      while (writer.step() > 0);
      return;
    }
  }
}
