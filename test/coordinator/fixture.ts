/** An embedded coordinator over memory, a history that leaves nothing out, and what it leads to. */
import { ManualClock } from '../../src/base/clock.ts';
import type { FileSystem } from '../../src/base/file-system.ts';
import { SeededRandom } from '../../src/base/random.ts';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import {
  openEmbeddedCoordinator,
  type EmbeddedCoordinator,
  type EmbeddedCoordinatorOptions,
} from '../../src/coordinator/embedded-coordinator.ts';
import { manifestFileName, type ManifestFileKind } from '../../src/coordinator/manifest/format.ts';
import { EVERYTHING, mergedOutput, PLAIN, sampleCommit, sampleRun } from '../../src/testing/coordinator/samples.ts';

export const DIRECTORY: string = '/store/manifest';
export const CURRENT_PATH: string = `${DIRECTORY}/CURRENT`;
export const CLOSE_MARK_PATH: string = `${DIRECTORY}/LAST-CLOSE`;
export const STORE_ID: Uint8Array = Uint8Array.from({ length: 16 }, (_, index) => index + 1);

export function pathOf(fileNumber: number, kind: ManifestFileKind): string {
  return `${DIRECTORY}/${manifestFileName(fileNumber, kind)}`;
}

export function openOver(
  fileSystem: FileSystem,
  more: Partial<EmbeddedCoordinatorOptions> = {},
): Promise<EmbeddedCoordinator> {
  return openEmbeddedCoordinator({
    fileSystem,
    directory: DIRECTORY,
    storeId: STORE_ID,
    clock: new ManualClock(1_000_000),
    random: new SeededRandom(1),
    times: { reservationTtl: 10_000, deleteGrace: 1_000, tombstoneRetention: 2_000 },
    ...more,
  });
}

/** Steps that change something each, with an event of every kind among them. */
export const EVENTFUL: readonly ((coordinator: Coordinator, clock: ManualClock) => Promise<unknown>)[] = [
  (coordinator) => coordinator.createStream('orders', PLAIN),
  (coordinator) =>
    coordinator.createStream('ü', { ...PLAIN, retention: { maxBytes: 10, maxAge: 9 }, deletionDeadline: 8 }),
  (coordinator) => coordinator.createStream('gone', PLAIN),
  (coordinator) => coordinator.reserveObjects(6),
  async (coordinator) => {
    const wal = { lane: 2, slotSequence: 3, blockSequence: 70_000 };
    const snapshot = { trackingBytes: 20, trackingSnapshot: true };
    const runs = [sampleRun(1, 0, 5), sampleRun(2, 0, 300, { lastTimestamp: 2 ** 41 }), sampleRun(3, 0, 7, snapshot)];
    await coordinator.commitObject(sampleCommit(await key(coordinator, 0), runs, { wal }));
  },
  (coordinator) => coordinator.deleteStream(3),
  async (coordinator) => {
    const runs = [sampleRun(3, 0, 1), sampleRun(1, 0, 5, { records: 2, firstTimestamp: -5 })];
    await coordinator.commitObject(sampleCommit(await key(coordinator, 0), runs, { relative: true }));
  },
  async (coordinator) => {
    const truncations = [{ streamId: 1, nextOffset: 8, epoch: 4 }];
    const runs = [sampleRun(1, 8, 2, { epoch: 4 })];
    await coordinator.commitObject(sampleCommit(await key(coordinator, 0), runs, { truncations }));
  },
  (coordinator) => coordinator.configureStream(1, { ...PLAIN, compression: 'none', cleanup: 'compact' }),
  (coordinator) => coordinator.advanceFlushed({ lane: 0, slotSequence: 1, blockSequence: 1 }),
  (coordinator) => coordinator.trim(1, 2),
  async (coordinator) => {
    const objects = await coordinator.listObjects({});
    const plan = { kind: 'rewrite', inputKeys: objects.map((object) => object.key).slice(0, 2), hints: {} } as const;
    const job = (await coordinator.claimJob('worker', plan, 3_000))!;
    const output = mergedOutput(job, await key(coordinator, 0));
    await coordinator.renewJob(job.jobId, job.token, 4_000);
    const { jobId, token } = job;
    await coordinator.commitJob({ jobId, token, outputs: [output], dropped: [] });
  },
  async (coordinator) => coordinator.abortObject(await key(coordinator, 1)),
  (coordinator) => coordinator.truncateStream({ streamId: 2, nextOffset: 299, epoch: 1 }),
  async (coordinator) => {
    const claim = { reference: 'sensor', previousId: undefined, publishingId: 7, offset: 2 };
    const runs = [
      sampleRun(2, 0, 3, { epoch: 1, publishers: [claim] }),
      sampleRun(1, 0, 4, { epoch: 4, publishers: [{ ...claim, previousId: 6 }] }),
    ];
    await coordinator.commitObject(sampleCommit(await key(coordinator, 0), runs, { relative: true }));
  },
  (coordinator) =>
    coordinator.storeOffsets(
      2,
      new Map([
        ['reader', 2],
        ['ü', 301],
      ]),
    ),
  (coordinator) => coordinator.storeOffsets(2, new Map([['reader', undefined]])),
  async (coordinator, clock) => {
    clock.advance(1_500);
    await coordinator.confirmDeleted(await coordinator.objectsToDelete(2));
  },
  async (coordinator, clock) => {
    clock.advance(2_500);
    await coordinator.expire();
  },
  async (coordinator) => {
    const [object] = await coordinator.listObjects({});
    await coordinator.claimJob('last', { kind: 'keyCompaction', inputKeys: [object!.key], hints: {} }, 60_000);
  },
];

async function key(coordinator: Coordinator, index: number): Promise<string> {
  const reserved = await coordinator.listObjects({ state: 'reserved' });
  return reserved[index]!.key;
}

/** Everything that can be asked, as one value. */
export async function dump(coordinator: Coordinator): Promise<unknown> {
  const streams = await coordinator.streams();
  const perStream = [];
  for (const { streamId } of streams) {
    perStream.push({
      found: await coordinator.findRuns(streamId, 0, EVERYTHING),
      tracking: await coordinator.findTrackingRuns(streamId),
      totals: await coordinator.streamTotals(streamId),
      consumers: await coordinator.trackedOffsets(streamId),
      publisher: await coordinator.publisherMark(streamId, 'sensor'),
    });
  }
  const objects = [];
  for (const state of ['reserved', 'committed', 'deleting', 'gone'] as const) {
    for (const object of await coordinator.listObjects({ state })) {
      objects.push({ object, runs: await coordinator.objectRuns(object.key) });
    }
  }
  const { now: _now, ...stats } = await coordinator.stats();
  const [jobs, lanes] = [await coordinator.jobs(), await coordinator.flushedSlots()];
  return { streams, perStream, objects, jobs, lanes, stats, violations: await coordinator.verify() };
}
