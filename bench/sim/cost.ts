/** Turns counts of one thinned writer into figures per GiB, which need no scaling, and into figures of the fleet. */
import { GIB } from '../../src/limits/limits.ts';
import type { DeadlineWatch } from './deadlines.ts';
import { type Measures, type Sample, totalOf } from './measures.ts';
import type { ReadOptions } from './options.ts';
import { type Prices, requestCost } from './prices.ts';
import type { WorkloadOptions } from './workload.ts';

/** Bytes of a run in the coordinator: 17 columns of 8 bytes in memory, and as much again on disk and in snapshots. */
const ROW_BYTES = 272;
const DAYS_PER_MONTH = 30;
const HOUR_SECONDS = 3_600;

/** Dollars for each GiB that is written, reads of it included. */
export interface Dollars {
  readonly ingest: number;
  readonly rewriteReads: number;
  readonly rewriteWrites: number;
  readonly deletion: number;
  readonly workers: number;
  readonly storage: number;
  readonly metadata: number;
  readonly reads: number;
  readonly total: number;
}

export interface Figures {
  readonly ingestedGib: number;
  /** (ingested + rewritten) / ingested. */
  readonly writeAmplification: number;
  /** Bytes of all objects over the bytes of live runs, mean over time. */
  readonly storageAmplification: number;
  /** Coordinator rows over live bytes, mean over time. */
  readonly metadataShare: number;
  /** Runs for a GiB at ingest, and of what is stored. */
  readonly runsPerGibIngested: number;
  readonly runsPerGibStored: number;
  /** PUTs and GETs for a GiB written: appends, rewrites. */
  readonly ingestPutsPerGib: number;
  readonly rewritePutsPerGib: number;
  readonly rewriteGetsPerGib: number;
  /** GETs for a GiB of one stream, before and after merging, and what they cost. */
  readonly readGetsPerGibBefore: number;
  readonly readGetsPerGibAfter: number;
  readonly readDollarsPerGibBefore: number;
  readonly readDollarsPerGibAfter: number;
  readonly dollars: Dollars;
  /** GiB read of each GiB written, from which on merging pays for its requests and workers by cheaper reads alone. */
  readonly breakEvenReads: number;
  /** Of the whole fleet: mean over time, at the end, and at its highest, which thinning overstates. */
  readonly objectsMean: number;
  readonly objectsAtEnd: number;
  readonly objectsAtPeak: number;
  readonly firstGenerationAtPeak: number;
  /** Workers that are busy all the time, for the whole fleet. */
  readonly workersBusy: number;
  readonly deadlinesMet: number;
  readonly deadlinesMissed: number;
  readonly worstLatenessMinutes: number;
}

export interface CostInput {
  readonly measures: Measures;
  readonly deadlines: DeadlineWatch;
  readonly workload: WorkloadOptions;
  readonly prices: Prices;
  readonly reads: ReadOptions;
  readonly workerBytesPerSecond: number;
  readonly days: number;
}

/** How many times a thinned writer is in the fleet. */
export function scaleOf({ writers, thinning }: WorkloadOptions): number {
  return writers * thinning;
}

export function figuresOf(input: CostInput): Figures {
  const { measures, deadlines, workload, prices } = input;
  const ingestedGib = measures.ingestedBytes / GIB;
  const perGib = (count: number): number => count / ingestedGib;
  const mean = (of: (sample: Sample) => number): number => meanOf(measures.samples, of);
  const liveGib = mean(({ liveBytes }) => liveBytes) / GIB;
  const stored = mean(({ committedBytes, deletingBytes }) => committedBytes + deletingBytes) / GIB;
  const runs = mean((sample) => sample.runs);
  const before = measures.scanBefore.gets / (measures.scanBefore.bytes / GIB);
  const after = measures.scanAfter.gets / Math.max(Number.EPSILON, measures.scanAfter.bytes / GIB);
  const getPrice = prices.get / 1_000;
  const dollars = dollarsOf(input, stored, (runs * ROW_BYTES) / GIB, after * getPrice);
  const scale = scaleOf(workload);
  const objects = ({ generations, deleting }: Sample): number =>
    generations.reduce((sum, count) => sum + count, deleting) * scale;
  const merging = dollars.rewriteReads + dollars.rewriteWrites + dollars.workers;
  return {
    ingestedGib,
    writeAmplification: 1 + totalOf(measures, 'writtenBytes') / measures.ingestedBytes,
    storageAmplification: stored / liveGib,
    metadataShare: (runs * ROW_BYTES) / GIB / liveGib,
    runsPerGibIngested: perGib(measures.ingestedRuns),
    runsPerGibStored: runs / liveGib,
    ingestPutsPerGib: perGib(measures.ingest.puts),
    rewritePutsPerGib: perGib(measures.rewriteWrites.puts),
    rewriteGetsPerGib: perGib(measures.rewriteReads.gets + measures.rewriteWrites.gets),
    readGetsPerGibBefore: before,
    readGetsPerGibAfter: after,
    readDollarsPerGibBefore: before * getPrice,
    readDollarsPerGibAfter: after * getPrice,
    dollars,
    breakEvenReads: before > after ? merging / ((before - after) * getPrice) : Infinity,
    objectsMean: mean(objects),
    objectsAtEnd: objects(measures.samples.at(-1)!),
    objectsAtPeak: Math.max(...measures.samples.map(objects)),
    firstGenerationAtPeak: Math.max(...measures.samples.map(({ generations }) => generations[0]! * scale)),
    workersBusy: (workerSeconds(input) * scale) / (input.days * 24 * HOUR_SECONDS),
    deadlinesMet: deadlines.met,
    deadlinesMissed: deadlines.missed,
    worstLatenessMinutes: deadlines.worstLateness / 60_000,
  };
}

function dollarsOf(input: CostInput, storedGib: number, metadataGib: number, readDollarsPerGib: number): Dollars {
  const { measures, prices, reads, days } = input;
  const ingestedGib = measures.ingestedBytes / GIB;
  const months = days / DAYS_PER_MONTH;
  const parts = {
    ingest: requestCost(measures.ingest, prices) / ingestedGib,
    rewriteReads: requestCost(measures.rewriteReads, prices) / ingestedGib,
    rewriteWrites: requestCost(measures.rewriteWrites, prices) / ingestedGib,
    deletion: requestCost(measures.deletion, prices) / ingestedGib,
    workers: ((workerSeconds(input) / HOUR_SECONDS) * prices.workerHour) / ingestedGib,
    storage: (storedGib * months * prices.storage) / ingestedGib,
    metadata: (metadataGib * months * prices.metadata) / ingestedGib,
    reads: reads.perByte * readDollarsPerGib,
  };
  return { ...parts, total: Object.values(parts).reduce((sum, part) => sum + part, 0) };
}

function workerSeconds({ measures, workerBytesPerSecond }: CostInput): number {
  return totalOf(measures, 'readBytes') / workerBytesPerSecond;
}

function meanOf(samples: readonly Sample[], of: (sample: Sample) => number): number {
  return samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
}
