/** Every metric of a store, derived from `stats()`: names and units by Prometheus convention. */
import type { Metric, Sample } from '../metrics/exposition.ts';
import { histogramSamples } from '../metrics/latency-histogram.ts';
import type { MetricRow } from './metric-row.ts';
import { COMPACTION_METRICS, OBJECT_METRICS } from './object-metrics.ts';
import type { StoreStats } from './stats.ts';

const SECOND = 1_000;

const ROWS: readonly MetricRow[] = [
  { name: 'millrace_streams', type: 'gauge', help: 'Streams.', value: ({ objects }) => objects.streams },
  { name: 'millrace_runs', type: 'gauge', help: 'Live runs of all streams.', value: ({ objects }) => objects.runs },
  {
    name: 'millrace_objects',
    type: 'gauge',
    help: 'Objects by state.',
    value: ({ objects }) => Object.entries(objects.objects).map(([state, value]) => ({ labels: { state }, value })),
  },
  {
    name: 'millrace_objects_bytes',
    type: 'gauge',
    help: 'Bytes of objects: all that are committed, the part that live runs take, and what waits for deletion.',
    value: ({ objects }) => [
      { labels: { kind: 'committed' }, value: objects.committedBytes },
      { labels: { kind: 'live' }, value: objects.liveBytes },
      { labels: { kind: 'deleting' }, value: objects.deletingBytes },
    ],
  },
  { name: 'millrace_jobs', type: 'gauge', help: 'Live compaction jobs.', value: ({ objects }) => objects.jobs },
  { name: 'millrace_ring_slots', type: 'gauge', help: 'Slots of the ring.', value: ({ ring }) => ring?.slots },
  {
    name: 'millrace_ring_slots_in_use',
    type: 'gauge',
    help: 'Slots that hold records which are in no segment yet.',
    value: ({ ring }) => ring?.slotsInUse,
  },
  { name: 'millrace_ring_slot_bytes', type: 'gauge', help: 'Bytes of a slot.', value: ({ ring }) => ring?.slotBytes },
  {
    name: 'millrace_ring_queued_bytes',
    type: 'gauge',
    help: 'Bytes of appends that wait for room in the ring.',
    value: ({ ring }) => ring?.queuedBytes,
  },
  {
    name: 'millrace_append_records_total',
    type: 'counter',
    help: 'Records that the thread of the store appended since it was opened.',
    value: ({ appends }) => appends?.records,
  },
  {
    name: 'millrace_append_bytes_total',
    type: 'counter',
    help: 'Bytes of their keys and values.',
    value: ({ appends }) => appends?.userBytes,
  },
  {
    name: 'millrace_append_seconds',
    type: 'histogram',
    help: 'Time from the call of an append until it was durable.',
    value: ({ appends }) => appends && histogramSamples(appends.latency),
  },
  {
    name: 'millrace_wal_blocks_total',
    type: 'counter',
    help: 'Blocks closed since the store was made.',
    value: ({ wal }) => wal?.blocks,
  },
  {
    name: 'millrace_wal_failed',
    type: 'gauge',
    help: '1 when appends are refused until the store is opened again.',
    value: ({ wal }) => wal && (wal.failure === undefined ? 0 : 1),
  },
  {
    name: 'millrace_flush_segments_total',
    type: 'counter',
    help: 'Segments that flushes committed.',
    value: ({ flush }) => flush?.segments,
  },
  {
    name: 'millrace_flush_records_total',
    type: 'counter',
    help: 'Records that flushes moved into segments.',
    value: ({ flush }) => flush?.records,
  },
  {
    name: 'millrace_flush_stored_bytes_total',
    type: 'counter',
    help: 'Bytes of segments that flushes wrote.',
    value: ({ flush }) => flush?.storedBytes,
  },
  {
    name: 'millrace_flush_refused_runs_total',
    type: 'counter',
    help: 'Runs of a store without a WAL that the coordinator refused: a publisher in them had published elsewhere.',
    value: ({ flush }) => flush?.refusedRuns,
  },
  { name: 'millrace_flush_running', type: 'gauge', help: 'Flushes under way.', value: ({ flush }) => flush?.running },
  {
    name: 'millrace_flush_waiting',
    type: 'gauge',
    help: 'Slots that are sealed and not committed.',
    value: ({ flush }) => flush?.waiting,
  },
  {
    name: 'millrace_flush_retries_total',
    type: 'counter',
    help: 'Attempts of flushes and commits repeated because a service could not be reached.',
    value: ({ flush }) => flush?.retries,
  },
  {
    name: 'millrace_tracking_references',
    type: 'gauge',
    help: 'Consumers with a stored offset, in open streams.',
    value: ({ tracking }) => tracking?.references,
  },
  {
    name: 'millrace_tracking_publishers',
    type: 'gauge',
    help: 'Publishers of open streams.',
    value: ({ tracking }) => tracking?.publishers,
  },
  {
    name: 'millrace_tracking_share_ratio',
    type: 'gauge',
    help: 'Largest share of tracking in the bytes written lately, of all open streams.',
    value: ({ tracking }) => tracking?.share,
  },
  {
    name: 'millrace_tracking_interval_seconds',
    type: 'gauge',
    help: 'Longest time that a tracking delta gathered offsets, of all open streams.',
    value: ({ tracking }) => tracking && tracking.interval / SECOND,
  },
  {
    name: 'millrace_compaction_jobs_total',
    type: 'counter',
    help: 'Compaction jobs committed, by kind.',
    value: ({ compaction }) =>
      compaction && Object.entries(compaction.jobs).map(([kind, value]) => ({ labels: { kind }, value })),
  },
  {
    name: 'millrace_compaction_read_bytes_total',
    type: 'counter',
    help: 'Bytes that compaction read.',
    value: ({ compaction }) => compaction?.readBytes,
  },
  {
    name: 'millrace_compaction_written_bytes_total',
    type: 'counter',
    help: 'Bytes that compaction wrote.',
    value: ({ compaction }) => compaction?.writtenBytes,
  },
  {
    name: 'millrace_compaction_records_dropped_total',
    type: 'counter',
    help: 'Records that compaction left out.',
    value: ({ compaction }) => compaction?.recordsDropped,
  },
  {
    name: 'millrace_compaction_failures_total',
    type: 'counter',
    help: 'Attempts of compaction jobs that failed.',
    value: ({ compaction }) => compaction?.failures,
  },
];

/** Every metric there is. */
export const METRICS: readonly MetricRow[] = [...ROWS, ...OBJECT_METRICS, ...COMPACTION_METRICS];

/** The metrics of a store that has these stats. */
export function metricsOf(stats: StoreStats): Metric[] {
  return METRICS.map(({ name, type, help, value }) => ({ name, type, help, samples: samplesOf(value(stats)) }));
}

function samplesOf(value: number | readonly Sample[] | undefined): readonly Sample[] {
  if (value === undefined) return [];
  return typeof value === 'number' ? [{ value }] : value;
}
