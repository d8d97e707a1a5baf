/**
 * Started by `main.ts`: fills a directory with objects of appends, or merges them all in one job, in a pool worker as
 * stores do. A small merge comes first, so that what is measured is the job and not the loading of its code.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/base/clock.ts';
import { NodeFileSystem } from '../../src/base/node-file-system.ts';
import { runPlan } from '../../src/compaction/job-run.ts';
import { planOf } from '../../src/compaction/plan-groups.ts';
import type { CompactionRunner, RewriteCounters } from '../../src/compaction/rewrite-job.ts';
import { compactionSettings } from '../../src/compaction/settings.ts';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import { openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import { describeDirectoryStore, DirectoryObjectStore } from '../../src/object/directory-object-store.ts';
import { S3_MODULE } from '../../src/object/own-modules.ts';
import type { S3Options } from '../../src/object/s3/options.ts';
import { S3ObjectStore } from '../../src/object/s3/s3-object-store.ts';
import { type Compression, STREAM_CONFIG_DEFAULT, type StreamConfig } from '../../src/record/stream-config.ts';
import { CHUNK_TYPE } from '../../src/segment/chunk-format.ts';
import { SegmentWriter } from '../../src/segment/writer.ts';
import { WorkerPool } from '../../src/store/pool.ts';
import { answer, jobOf } from '../processes.ts';
import { scanRequests } from '../sim/requests.ts';
import { copySeconds } from './copy-floor.ts';
import { frameOf, RECORD_BYTES } from './frames.ts';

export interface MergeJob {
  readonly action: 'fill' | 'merge';
  readonly dir: string;
  /** User bytes of all inputs. */
  readonly bytes: number;
  readonly compression: Compression;
  readonly streams: number;
  /** Smaller chunks are joined and compressed anew, larger ones are passed through. */
  readonly chunkRecords: number;
  /** Classes of streams, each of which has an output open throughout. From 1 to 4. */
  readonly classes: number;
  /** The bucket that objects lie in, instead of a directory. */
  readonly bucket?: S3Options;
}

export interface MergeAnswer {
  readonly seconds: number;
  /** What the same disk takes to copy the inputs; `undefined` in a bucket. */
  readonly floorSeconds: number | undefined;
  readonly readBytes: number;
  readonly userBytes: number;
  readonly peakBufferedBytes: number;
  /** Growth of the process's memory at its highest: until the outputs are written, and until they are committed. */
  readonly rewriteMemoryBytes: number;
  readonly peakMemoryBytes: number;
  readonly chunksPassed: number;
  readonly chunksWritten: number;
  /** For all streams from end to end. */
  readonly requestsBefore: number;
  readonly requestsAfter: number;
}

const INPUTS = 32;
/** Objects of the small merge, of a stream of its own. */
const FIRST_INPUTS = 2;
const STORE_ID = new Uint8Array(16).fill(7);
const DAY = 86_400_000;
const SAMPLE_INTERVAL = 5;
const EVERYTHING = { maxRuns: 1_000_000, maxBytes: Number.MAX_SAFE_INTEGER };

/** What makes streams lie apart. Nothing of them goes while it is measured. */
const CLASSES: readonly Partial<StreamConfig>[] = [
  {},
  { retention: { maxBytes: Number.MAX_SAFE_INTEGER } },
  { deletionDeadline: 10 * 365 * DAY },
  { retention: { maxAge: 100 * 365 * DAY } },
];

const job = jobOf<MergeJob>();
const root = join(job.dir, 'objects');
const objects = job.bucket === undefined ? new DirectoryObjectStore({ root }) : new S3ObjectStore(job.bucket);
const coordinator = await openEmbeddedCoordinator({
  fileSystem: new NodeFileSystem(),
  directory: join(job.dir, 'manifest'),
  storeId: STORE_ID,
});
if (job.action === 'fill') await fill();
else await measure();

async function fill(): Promise<void> {
  for (let stream = 0; stream <= job.streams; stream += 1) {
    const config = { ...STREAM_CONFIG_DEFAULT, ...CLASSES[stream % job.classes], compression: job.compression };
    await coordinator.createStream(`stream-${stream}`, config);
  }
  const chunks = Math.max(1, Math.round(job.bytes / INPUTS / job.streams / RECORD_BYTES / job.chunkRecords));
  const { keys } = await coordinator.reserveObjects(FIRST_INPUTS + INPUTS);
  for (const [index, key] of keys.entries()) {
    if (index < FIRST_INPUTS) await fillObject(key, job.streams + 1, job.streams + 1, index, 1);
    else await fillObject(key, 1, job.streams, index - FIRST_INPUTS, chunks);
  }
  await coordinator.close();
  await objects.close();
  await answer({});
}

/** Appends of streams `from` to `to`; objects of the same streams go on where the one of the last `index` ended. */
async function fillObject(key: string, from: number, to: number, index: number, chunks: number): Promise<void> {
  const { chunkRecords, compression } = job;
  const facts = { storeId: STORE_ID, objectKey: key, createdAt: Date.now() };
  const writer = new SegmentWriter(await objects.create(key), facts);
  for (let streamId = from; streamId <= to; streamId += 1) {
    const begin = index * chunks * chunkRecords;
    writer.beginRun(streamId, begin);
    for (let chunk = 0; chunk < chunks; chunk += 1) {
      const firstOffset = begin + chunk * chunkRecords;
      const timestamp = 1 + firstOffset;
      await writer.addChunk({
        type: CHUNK_TYPE.records,
        compression,
        firstOffset,
        offsetSpan: chunkRecords,
        recordCount: chunkRecords,
        epoch: 0,
        firstTimestamp: timestamp,
        lastTimestamp: timestamp,
        userBytes: chunkRecords * RECORD_BYTES,
        body: frameOf(streamId, firstOffset, chunkRecords, timestamp),
      });
    }
    writer.endRun();
  }
  const { bytes, checksum, runs } = await writer.finish();
  await coordinator.commitObject({ key, bytes, checksum: checksum.toString(16).padStart(16, '0'), runs });
}

async function measure(): Promise<void> {
  const pool = new WorkerPool(1, 1);
  const inputs = (await coordinator.listObjects({ state: 'committed' })).map(({ key }) => key);
  await merge(pool, inputs.slice(0, FIRST_INPUTS));
  const requestsBefore = await requestsOf(coordinator);
  (globalThis as { gc?: () => void }).gc?.();
  const memory = process.memoryUsage.rss();
  let peak = memory;
  const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), SAMPLE_INTERVAL);
  const begun = performance.now();
  let rewritePeak = 0;
  const observed: CompactionRunner = {
    rewrite: async (rewrite) => {
      const result = await pool.rewrite(rewrite);
      rewritePeak = Math.max(peak, process.memoryUsage.rss());
      return result;
    },
  };
  const counters = await merge(observed, inputs.slice(FIRST_INPUTS));
  const seconds = (performance.now() - begun) / 1_000;
  clearInterval(timer);
  await pool.close();
  const requestsAfter = await requestsOf(coordinator);
  await coordinator.close();
  await objects.close();
  const paths = inputs.slice(FIRST_INPUTS).map((key) => join(root, key));
  const floorSeconds = job.bucket === undefined ? await copySeconds(paths, job.dir) : undefined;
  const { readBytes, peakBufferedBytes, chunksPassed, chunksWritten, recordsRead } = counters;
  const found = { seconds, floorSeconds, readBytes, peakBufferedBytes, chunksPassed, chunksWritten };
  const userBytes = recordsRead * RECORD_BYTES;
  const requests = { requestsBefore, requestsAfter };
  const grown = { rewriteMemoryBytes: rewritePeak - memory, peakMemoryBytes: peak - memory };
  await answer({ ...found, ...requests, ...grown, userBytes } satisfies MergeAnswer);
}

async function merge(runner: CompactionRunner, inputKeys: readonly string[]): Promise<RewriteCounters> {
  const report = await runPlan(
    { ...planOf('merge', 'measured', []), inputKeys },
    {
      coordinator,
      runner,
      objects:
        job.bucket === undefined ? describeDirectoryStore({ root }) : { module: S3_MODULE, options: { ...job.bucket } },
      storeId: STORE_ID,
      clock: systemClock,
      sleep: pause,
      settings: compactionSettings(),
      worker: 'bench',
      signal: new AbortController().signal,
    },
  );
  if (report === undefined) throw new Error('the inputs of the merge could not be claimed');
  return report.result.counters;
}

async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
}

async function requestsOf(source: Coordinator): Promise<number> {
  let requests = 0;
  for (const { streamId } of await source.streams()) {
    requests += scanRequests((await source.findRuns(streamId, 0, EVERYTHING)).runs);
  }
  return requests;
}
