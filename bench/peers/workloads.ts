/** What every peer has to do. */
import { KIB, MIB } from '../../src/limits/limits.ts';
import type { Figure } from '../workload.ts';
import type { PeerJob } from './child.ts';
import type { PeerBenchOptions } from './options.ts';
import type { Peer } from './peer.ts';

export type PeerWorkloadKind = 'ingest' | 'read' | 'reopen';

export interface PeerWorkload {
  readonly name: string;
  readonly what: string;
  readonly kind: PeerWorkloadKind;
  readonly recordBytes: number;
  readonly window: number;
  readonly streams: number;
  /** User bytes at most, in a full run. */
  readonly bytes: number;
  readonly figures: readonly Figure[];
}

const INGEST_FIGURES: readonly Figure[] = [
  { name: 'rate', unit: 'records/s', better: 'higher' },
  { name: 'ack p50', unit: 'ms', better: 'lower' },
  { name: 'ack p99', unit: 'ms', better: 'lower' },
  { name: 'processor time a million records', unit: 'seconds', better: 'lower' },
  { name: 'peak memory', unit: 'bytes', better: 'lower' },
];
const RECORDS: Figure = { name: 'records', unit: 'records', better: 'higher' };
const READ_FIGURES: readonly Figure[] = [
  { name: 'scan', unit: 'records/s', better: 'higher' },
  { name: 'scan processor time a million records', unit: 'seconds', better: 'lower' },
  { name: 'gets', unit: 'operations/s', better: 'higher' },
  { name: 'get p50', unit: 'us', better: 'lower' },
  { name: 'get p99', unit: 'us', better: 'lower' },
  { name: 'disk bytes a user byte', unit: 'share', better: 'lower' },
  RECORDS,
];
const REOPEN_FIGURES: readonly Figure[] = [
  { name: 'time', unit: 'ms', better: 'lower' },
  { name: 'missing', unit: 'records', better: 'lower' },
  RECORDS,
];

const SIZES = [
  { label: '1k', text: '1 KiB', bytes: KIB },
  { label: '100', text: '100 B', bytes: 100 },
  { label: '16k', text: '16 KiB', bytes: 16 * KIB },
] as const;
const WINDOWS = [4_096, 64, 1];
const INGEST_BYTES = 1_024 * MIB;
const READ_BYTES = 512 * MIB;
const WIDE = WINDOWS[0]!;
/** A quick run moves this share. */
const QUICK_SHARE = 1 / 128;
const READS = 20_000;
/** A load ends after so many times the seconds of an ingest: slow engines are read with fewer records. */
const LOAD_SHARE = 4;

export const PEER_WORKLOADS: readonly PeerWorkload[] = [
  ...WINDOWS.flatMap((window) =>
    SIZES.map(({ label, text, bytes }): PeerWorkload => ({
      name: `ingest-${label}-${window}`,
      what: `${text} records, ${window.toLocaleString('en-US')} in flight, one stream`,
      kind: 'ingest',
      recordBytes: bytes,
      window,
      streams: 1,
      bytes: INGEST_BYTES,
      figures: INGEST_FIGURES,
    })),
  ),
  {
    name: 'streams-1000',
    what: '1 KiB records to 1,000 streams in turn, 4,096 in flight',
    kind: 'ingest',
    recordBytes: KIB,
    window: WIDE,
    streams: 1_000,
    bytes: INGEST_BYTES,
    figures: INGEST_FIGURES,
  },
  ...SIZES.slice(0, 2).map(({ label, text, bytes }): PeerWorkload => ({
    name: `read-${label}`,
    what: `${text} records in one stream, in the page cache: a scan in order, and gets at random places`,
    kind: 'read',
    recordBytes: bytes,
    window: WIDE,
    streams: 1,
    bytes: READ_BYTES,
    figures: READ_FIGURES,
  })),
  {
    name: 'reopen',
    what: 'from open to the last record read and one more acknowledged, after kill -9 behind the last acknowledgement',
    kind: 'reopen',
    recordBytes: KIB,
    window: WIDE,
    streams: 1,
    bytes: READ_BYTES,
    figures: REOPEN_FIGURES,
  },
];

/** Whether a peer can do it at all. */
export function takesPart(peer: Peer, { kind, streams }: PeerWorkload): boolean {
  if (streams > (peer.streamsMax ?? Infinity)) return false;
  return kind === 'ingest' || peer.reads;
}

/** Everything of a job but its step. */
export function jobFor(
  peer: Peer,
  { kind, recordBytes, window, streams, bytes }: PeerWorkload,
  dir: string,
  { quick, seconds }: Pick<PeerBenchOptions, 'quick' | 'seconds'>,
): Omit<PeerJob, 'step'> {
  const share = quick ? QUICK_SHARE : 1;
  return {
    peer: peer.name,
    dir,
    recordBytes,
    window,
    streams,
    records: Math.floor((bytes * share) / recordBytes),
    seconds: kind === 'ingest' ? seconds : seconds * LOAD_SHARE,
    reads: Math.floor(READS * share),
  };
}
