/** The figures of a run as rows of text, one column for each variant. */
import type { Figures } from './cost.ts';
import type { ResultInput, VariantResult } from './result.ts';
import { BURST_OBJECTS } from './workload.ts';
import { significant } from '../../src/report/format.ts';

export interface FigureRow {
  readonly title: string;
  readonly of: (figures: Figures) => string;
}

const dollars = (value: number): string => (value * 1_000).toFixed(3);

export const FIGURE_ROWS: readonly FigureRow[] = [
  { title: 'total, $ per 1,000 GiB written', of: ({ dollars: { total } }) => dollars(total) },
  { title: '  PUTs of appends', of: ({ dollars: { ingest } }) => dollars(ingest) },
  { title: '  GETs of rewrites', of: ({ dollars: { rewriteReads } }) => dollars(rewriteReads) },
  { title: '  PUTs of rewrites', of: ({ dollars: { rewriteWrites } }) => dollars(rewriteWrites) },
  { title: '  workers', of: ({ dollars: { workers } }) => dollars(workers) },
  { title: '  storage', of: ({ dollars: { storage } }) => dollars(storage) },
  { title: '  metadata', of: ({ dollars: { metadata } }) => dollars(metadata) },
  { title: '  reads', of: ({ dollars: { reads } }) => dollars(reads) },
  { title: 'reads before merging, $ per 1,000 GiB', of: (figures) => dollars(figures.readDollarsPerGibBefore) },
  { title: 'reads after merging, $ per 1,000 GiB', of: (figures) => dollars(figures.readDollarsPerGibAfter) },
  { title: 'GETs per GiB read before merging', of: (figures) => significant(figures.readGetsPerGibBefore) },
  { title: 'GETs per GiB read after merging', of: (figures) => significant(figures.readGetsPerGibAfter) },
  { title: 'reads of a byte from which merging pays', of: (figures) => significant(figures.breakEvenReads) },
  { title: 'PUTs of appends per GiB', of: (figures) => significant(figures.ingestPutsPerGib) },
  { title: 'PUTs of rewrites per GiB', of: (figures) => significant(figures.rewritePutsPerGib) },
  { title: 'GETs of rewrites per GiB', of: (figures) => significant(figures.rewriteGetsPerGib) },
  { title: 'write amplification', of: (figures) => figures.writeAmplification.toFixed(3) },
  { title: 'storage amplification', of: (figures) => figures.storageAmplification.toFixed(3) },
  { title: 'metadata, % of data', of: (figures) => (figures.metadataShare * 100).toFixed(4) },
  { title: 'runs per GiB written', of: (figures) => significant(figures.runsPerGibIngested) },
  { title: 'runs per GiB stored', of: (figures) => significant(figures.runsPerGibStored) },
  { title: 'objects of the fleet, mean', of: (figures) => significant(figures.objectsMean) },
  { title: 'objects of the fleet at the end', of: (figures) => significant(figures.objectsAtEnd) },
  { title: 'objects of the fleet at most', of: (figures) => significant(figures.objectsAtPeak) },
  { title: 'objects of appends at most', of: (figures) => significant(figures.firstGenerationAtPeak) },
  { title: 'workers busy', of: (figures) => significant(figures.workersBusy) },
  { title: 'deadlines met', of: (figures) => count(figures.deadlinesMet) },
  { title: 'deadlines missed', of: (figures) => count(figures.deadlinesMissed) },
  { title: 'closest to a deadline, minutes left', of: (figures) => significant(-figures.worstLatenessMinutes) },
];

/** Jobs by reason: how many for a TiB written by the simulated writer, and bytes written for a byte ingested. */
export function jobRows({ jobs, figures }: VariantResult): readonly (readonly string[])[] {
  return Object.entries(jobs).map(([reason, job]) => [
    reason,
    count(job.jobs),
    significant(job.inputs / job.jobs),
    significant(job.outputs / job.jobs),
    (job.writtenBytes / 1_024 ** 3 / figures.ingestedGib).toFixed(3),
  ]);
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}

export const JOB_HEADING: readonly string[] = [
  'reason',
  'jobs',
  'inputs each',
  'outputs each',
  'bytes per byte written',
];

/** What of the fleet is simulated and what is scaled. */
export function scalingText({ workload, days, seed, reads }: ResultInput): string {
  const { bytesPerSecond, streams, writers, thinning, objectBytes, skew } = workload;
  return [
    `A fleet that writes ${significant(bytesPerSecond / 1_024 ** 3)} GiB/s into ${streams} streams (Zipf ${skew})`,
    `by ${writers} writers, in objects of ${significant(objectBytes / 1_024 ** 2)} MiB,`,
    `for ${days} ${days === 1 ? 'day' : 'days'} (seed ${seed}).`,
    `One writer of ${writers}, with one stream of each band of ${writers} ranks and a store of its own, is simulated;`,
    `of its bursts of ${BURST_OBJECTS} objects one in ${thinning}. Sizes, runs, ages and settings are real;`,
    `counts of the fleet are those of the writer times ${writers * thinning}, figures per GiB need no scaling.`,
    `Each byte is read from objects ${reads.perByte} times.`,
  ].join(' ');
}
