/** Metrics of objects, requests and compaction: what a bucket costs, and whether the store keeps up. */
import type { Bounded, Survey } from '../compaction/survey.ts';
import type { Sample } from '../metrics/exposition.ts';
import { histogramSamples } from '../metrics/latency-histogram.ts';
import type { RequestTally } from '../object/request-tally.ts';
import type { MetricRow } from './metric-row.ts';
import type { StoreStats } from './stats.ts';

const SECOND = 1_000;

export const OBJECT_METRICS: readonly MetricRow[] = [
  {
    name: 'millrace_object_requests_total',
    type: 'counter',
    help: 'Requests to the object store by purpose and operation, repeated ones included.',
    value: ({ requests }) => tallies(requests, (tally) => tally.requests),
  },
  {
    name: 'millrace_object_request_bytes_total',
    type: 'counter',
    help: 'Bytes of those requests and their answers.',
    value: ({ requests }) => tallies(requests, (tally) => tally.bytes),
  },
  {
    name: 'millrace_object_request_errors_total',
    type: 'counter',
    help: 'Requests that failed, by error code.',
    value: ({ requests }) => tallies(requests, (tally) => tally.errors),
  },
  {
    name: 'millrace_cache_blocks_total',
    type: 'counter',
    help: 'Blocks of a remote object store that reads asked for: found in memory, fetched, or on their way already.',
    value: ({ cache }) =>
      cache && [
        { labels: { result: 'hit' }, value: cache.hits },
        { labels: { result: 'miss' }, value: cache.misses },
        { labels: { result: 'joined' }, value: cache.joined },
      ],
  },
  {
    name: 'millrace_cache_bytes_total',
    type: 'counter',
    help: 'Bytes that reads of a remote object store got, and that were fetched into memory for them.',
    value: ({ cache }) =>
      cache && [
        { labels: { kind: 'served' }, value: cache.servedBytes },
        { labels: { kind: 'fetched' }, value: cache.fetchedBytes },
      ],
  },
  {
    name: 'millrace_coordinator_seconds',
    type: 'histogram',
    help: 'Time that calls of the coordinator took, by operation: commitObject is the commit of an append or a flush.',
    value: ({ coordinator }) =>
      Object.entries(coordinator).flatMap(([operation, { durations }]) => histogramSamples(durations, { operation })),
  },
  {
    name: 'millrace_coordinator_errors_total',
    type: 'counter',
    help: 'Calls of the coordinator that failed, by error code.',
    value: ({ coordinator }) =>
      Object.entries(coordinator).flatMap(([operation, { errors }]) =>
        Object.entries(errors).map(([code, value]) => ({ labels: { operation, code }, value })),
      ),
  },
  {
    name: 'millrace_housekeeping_deleted_total',
    type: 'counter',
    help: 'Objects that this process deleted: nothing in them was needed any more.',
    value: ({ housekeeping }) => housekeeping?.deleted,
  },
  {
    name: 'millrace_housekeeping_unconfirmed_total',
    type: 'counter',
    help: 'Deletions that the object store did not confirm, and that are asked for again.',
    value: ({ housekeeping }) => housekeeping?.unconfirmed,
  },
  {
    name: 'millrace_housekeeping_failures_total',
    type: 'counter',
    help: 'Rounds of retention and deletion that failed.',
    value: ({ housekeeping }) => housekeeping?.failures,
  },
  {
    name: 'millrace_orphans',
    type: 'gauge',
    help: 'Objects unknown to the coordinator that the last search of this process found, deleted or not.',
    value: ({ orphans }) => orphans?.orphans,
  },
  {
    name: 'millrace_orphan_bytes',
    type: 'gauge',
    help: 'Bytes of those objects.',
    value: ({ orphans }) => orphans?.orphanBytes,
  },
  {
    name: 'millrace_last_success_timestamp_seconds',
    type: 'gauge',
    help: 'When a loop last ended a round well.',
    value: ({ compaction, housekeeping }) => [
      ...timeOf('compaction', compaction?.lastSuccessAt),
      ...timeOf('housekeeping', housekeeping?.lastSuccessAt),
    ],
  },
];

export const COMPACTION_METRICS: readonly MetricRow[] = [
  {
    name: 'millrace_compaction_inputs_total',
    type: 'counter',
    help: 'Objects that compaction replaced.',
    value: ({ compaction }) => compaction?.inputs,
  },
  {
    name: 'millrace_compaction_outputs_total',
    type: 'counter',
    help: 'Objects that compaction made of them.',
    value: ({ compaction }) => compaction?.outputs,
  },
  {
    name: 'millrace_compaction_chunks_total',
    type: 'counter',
    help: 'Chunks that compaction passed on as they were, or wrote anew.',
    value: ({ compaction }) =>
      compaction && [
        { labels: { how: 'passed' }, value: compaction.chunksPassed },
        { labels: { how: 'written' }, value: compaction.chunksWritten },
      ],
  },
  {
    name: 'millrace_compaction_running',
    type: 'gauge',
    help: 'Compaction jobs of this process that are under way.',
    value: ({ compaction }) => compaction?.running,
  },
  {
    name: 'millrace_compaction_paused',
    type: 'gauge',
    help: '1 while no job is started in the background, in this process or in all.',
    value: ({ compaction }) => compaction && Number(compaction.paused),
  },
  {
    name: 'millrace_compaction_leases_lost_total',
    type: 'counter',
    help: 'Jobs that lost their lease.',
    value: ({ compaction }) => compaction?.leasesLost,
  },
  {
    name: 'millrace_compaction_conflicts_total',
    type: 'counter',
    help: 'Jobs whose commit was refused because what they were based on had changed.',
    value: ({ compaction }) => compaction?.conflicts,
  },
  surveyed('millrace_generation_objects', 'Committed objects by generation.', ({ generations }) =>
    Object.entries(generations).map(([generation, { objects }]) => ({ labels: { generation }, value: objects })),
  ),
  surveyed('millrace_generation_bytes', 'Bytes of committed objects by generation.', ({ generations }) =>
    Object.entries(generations).map(([generation, { bytes }]) => ({ labels: { generation }, value: bytes })),
  ),
  surveyed('millrace_objects_by_bytes', 'Committed objects that are not larger than `le`.', ({ sizes }) =>
    below(sizes),
  ),
  surveyed('millrace_objects_by_age_seconds', 'Committed objects that are not older than `le`.', ({ ages }) =>
    below(ages, SECOND),
  ),
  surveyed('millrace_objects_by_dirty_ratio', 'Committed objects of which not more than `le` is dead.', ({ dirt }) =>
    below(dirt),
  ),
  surveyed(
    'millrace_dead_bytes',
    'Bytes of committed objects that a rewrite would free.',
    (survey) => survey.deadBytes,
  ),
  surveyed(
    'millrace_merge_lag_seconds',
    'Age of the oldest object of appends that is not merged.',
    (survey) => survey.mergeLag / SECOND,
  ),
  surveyed(
    'millrace_deadline_objects',
    'Objects with bytes that a deletion deadline wants gone.',
    (survey) => survey.deadlines,
  ),
  surveyed(
    'millrace_deadline_overdue_seconds',
    'How late the latest of them is: 0 while all deadlines are met.',
    (survey) => survey.deadlineOverdue / SECOND,
  ),
  {
    name: 'millrace_write_amplification_ratio',
    type: 'gauge',
    help: 'Bytes that this process wrote into objects for each that its flushes wrote.',
    value: ({ flush, compaction }) =>
      flush === undefined || flush.storedBytes === 0
        ? undefined
        : 1 + (compaction?.writtenBytes ?? 0) / flush.storedBytes,
  },
  {
    name: 'millrace_storage_amplification_ratio',
    type: 'gauge',
    help: 'Bytes of all objects, those that wait for deletion included, for each byte that lives.',
    value: ({ objects }) =>
      objects.liveBytes === 0 ? undefined : (objects.committedBytes + objects.deletingBytes) / objects.liveBytes,
  },
];

/** What a compaction agent sees; absent in processes that have none, and before it first looked. */
function surveyed(name: string, help: string, value: (survey: Survey) => number | Sample[]): MetricRow {
  return {
    name,
    type: 'gauge',
    help,
    value: ({ compaction }) => (compaction?.survey === undefined ? undefined : value(compaction.survey)),
  };
}

function below(counts: readonly Bounded[], unit = 1): Sample[] {
  return counts.map(({ bound, objects }) => ({ labels: { le: boundText(bound / unit) }, value: objects }));
}

function boundText(bound: number): string {
  return bound === Infinity ? '+Inf' : String(bound);
}

function tallies(
  requests: StoreStats['requests'],
  part: (tally: RequestTally) => Readonly<Record<string, number>>,
): Sample[] {
  return Object.entries(requests).flatMap(([purpose, tally]) =>
    Object.entries(part(tally)).map(([name, value]): Sample => {
      const [operation = '', code] = name.split(' ');
      return { labels: { purpose, operation, ...(code === undefined ? {} : { code }) }, value };
    }),
  );
}

function timeOf(loop: string, at: number | undefined): Sample[] {
  return at === undefined ? [] : [{ labels: { loop }, value: at / SECOND }];
}
