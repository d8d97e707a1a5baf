/**
 * The consuming thread of a model: the WAL worker's own loop, over files that remember nothing but how many blocks
 * reached them. Runs again and again, each time with new objects over the same memory.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { FileHandle, FileSystem } from '../../../src/base/file-system.ts';
import { loadChecksum } from '../../../src/codec/checksum.ts';
import { blockBytes, payloadBytesAt } from '../../../src/ring/block-format.ts';
import { runWal } from '../../../src/wal/wal-loop.ts';
import type { LaneAssignment } from '../../../src/wal/writer.ts';
import { installGates } from './gate.ts';
import { Lockstep, STATE } from './lockstep.ts';

export interface ConsumerData {
  readonly lane: LaneAssignment;
  readonly doorbell: SharedArrayBuffer;
  readonly lockstep: SharedArrayBuffer;
  /** Write number `failAt` fails; -1 for none. */
  readonly failAt: number;
}

const { lane, doorbell, lockstep: shared, failAt } = workerData as ConsumerData;
const lockstep = new Lockstep(shared);
let writes = 0;

/** Counts blocks. The page of the header, which opening writes, is none. */
function file(path: string): Partial<FileHandle> {
  return {
    path,
    writeSync: (source, offset, length, position) => {
      if (position === 0) return length;
      if (writes === failAt) throw Object.assign(new Error('EIO: the disk is gone'), { code: 'EIO' });
      writes += 1;
      const view = new DataView(source.buffer, source.byteOffset);
      let blocks = 0;
      for (let at = offset; at < offset + length; at += blockBytes(payloadBytesAt(view, at))) blocks += 1;
      lockstep.written += blocks;
      return length;
    },
    closeSync: () => undefined,
  };
}

const fileSystem = { openSync: (path: string) => file(path) as FileHandle } as unknown as FileSystem;

async function run(): Promise<void> {
  writes = 0;
  let failure: string | undefined;
  const accesses = installGates([lane.ring, doorbell], {
    pass: (since) => {
      lockstep.yield(STATE.stopped, since);
    },
    block: (word, since) => {
      lockstep.yield(STATE.blocked, since, word);
    },
    notify: (word) => {
      lockstep.notified(word);
    },
  });
  lockstep.awaitStart();
  await runWal(
    { directory: '/', doorbell, lanes: [{ ...lane, nextOffsets: lane.nextOffsets.slice() }] },
    {
      receive: () => (lockstep.stopAsked ? { type: 'stop' } : undefined),
      send: (reply) => {
        if (reply.type === 'failed') failure = reply.error.message;
      },
    },
    fileSystem,
  );
  const last = accesses();
  parentPort?.postMessage({ failure });
  lockstep.yield(failure === undefined ? STATE.ended : STATE.failed, last);
}

await loadChecksum();
parentPort?.on('message', () => void run());
parentPort?.postMessage({});
