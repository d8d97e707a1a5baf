/** The figures of a run, as a table for people and as one object for programs. */
import { bytes, count, table } from '../../src/cli/text.ts';
import type { Latency, Percentiles } from './messages.ts';

export interface Phase {
  readonly name: string;
  readonly records: number;
  readonly bytes: number;
  /** Milliseconds. */
  readonly duration: number;
  readonly latency?: Latency | undefined;
}

export interface Figures {
  readonly phases: readonly Phase[];
  readonly recovery: {
    /** Milliseconds from `open` to a store that takes appends. */
    readonly duration: number;
    /** Records that were in the write-ahead log only. */
    readonly walRecords: number;
    /** Acknowledged records when the child died, all of which were proven to be there. */
    readonly acknowledged: number;
    /** Records found beyond them: durable, but killed before they were reported. */
    readonly unreported: number;
  };
  readonly streams: number;
  readonly userBytes: number;
  readonly storedBytes: number;
  readonly walMode: string;
  readonly directory: string;
  readonly kept: boolean;
  /** Milliseconds of the whole run. */
  readonly duration: number;
}

const HEADING = [
  'phase',
  'records',
  'bytes',
  'time',
  'records/s',
  'MB/s',
  'append p50',
  'p99',
  'appendMany p50',
  'p99',
];
const SECOND = 1_000;
const MEGABYTE = 1e6;

export function reportText(figures: Figures): string {
  const { recovery, userBytes, storedBytes, walMode, directory, kept, duration, streams } = figures;
  const lines = [
    table(HEADING, figures.phases.map(row)),
    `recovery     the store was open again after ${count(Math.round(recovery.duration))} ms, ` +
      `${count(recovery.walRecords)} records came from the write-ahead log`,
    `durability   all ${count(recovery.acknowledged)} acknowledged records were there, whole and in order ` +
      `(and ${count(recovery.unreported)} more whose acknowledgement died with the process)`,
    `compression  ${bytes(userBytes)} in ${streams} streams take ${bytes(storedBytes)}: ` +
      `${(userBytes / storedBytes).toFixed(2)}x`,
    `data         ${directory} (${kept ? 'kept' : 'deleted'}; log written ${walMode})`,
    `total        ${(duration / SECOND).toFixed(1)} s`,
  ];
  return `${lines.join('\n')}\n`;
}

export function reportJson(figures: Figures): string {
  return `${JSON.stringify(figures)}\n`;
}

function row({ name, records, bytes: size, duration, latency }: Phase): string[] {
  const seconds = duration / SECOND;
  return [
    name,
    count(records),
    bytes(size),
    `${seconds.toFixed(2)} s`,
    count(Math.round(records / seconds)),
    (size / MEGABYTE / seconds).toFixed(0),
    ...percentiles(latency?.append),
    ...percentiles(latency?.appendMany),
  ];
}

function percentiles(figures: Percentiles | undefined): string[] {
  if (figures === undefined) return ['-', '-'];
  return [figures.p50, figures.p99].map((microseconds) => `${(microseconds / 1_000).toFixed(2)} ms`);
}
