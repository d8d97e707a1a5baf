/** What a load test found: the JSON file, from which the report is made. */
import type { Machine } from '../machine.ts';
import type { Percentiles } from './histogram.ts';
import type { LoadSettings } from './settings.ts';

export const LOAD_RESULT_VERSION = 1;

/** A moment of the test. Rates and percentiles are those since the sample before; times are milliseconds. */
export interface LoadSample {
  /** Since the test began. */
  readonly seconds: number;
  /** Records a second: due by the schedule, acknowledged, and read by all followers together. */
  readonly dueRate: number;
  readonly acknowledgedRate: number;
  readonly receivedRate: number;
  /** From when a record was due to its acknowledgement; `undefined` where there was none. */
  readonly latency: Percentiles | undefined;
  /** From when a record was due to when a follower read it. */
  readonly endToEnd: Percentiles | undefined;
  readonly inFlight: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  /** Slots of the ring with records that are in no segment yet, and appends that wait for room. */
  readonly slotsInUse: number;
  readonly queuedBytes: number;
  /** Objects that live, objects that wait for deletion, and the bytes that are dead or wait. */
  readonly objects: number;
  readonly deletingObjects: number;
  readonly deadBytes: number;
  readonly compactionJobs: number;
  readonly compactionRunning: number;
  /** Processor seconds a second. */
  readonly processors: number;
  /** Of the thread that sends, acknowledges and reads: p99 of how late its timers are. */
  readonly loopDelay: number;
}

export interface LoadResult {
  readonly version: number;
  readonly kind: 'load';
  readonly command: string;
  readonly startedAt: string;
  readonly machine: Machine;
  readonly settings: LoadSettings;
  /** Of the ring. */
  readonly slots: number;
  readonly slotBytes: number;
  /** Seconds until everything was answered. */
  readonly seconds: number;
  readonly sent: number;
  readonly acknowledged: number;
  /** Records that were due and never sent, because too much was in flight. */
  readonly unsent: number;
  /** Records sent and neither acknowledged nor refused in the end. */
  readonly unanswered: number;
  /** Refused, by error code. */
  readonly failed: Readonly<Record<string, number>>;
  readonly received: number;
  /** The signal that ended the test before its time; records that were not due by then count as `unsent`. */
  readonly interrupted?: string;
  /** Followers that had read everything in the end. */
  readonly followersCaughtUp: number;
  readonly latency: Percentiles;
  readonly endToEnd: Percentiles;
  /** How late the sender itself was: part of both. */
  readonly lateness: Percentiles;
  /** Percentile and milliseconds. */
  readonly latencyCurve: readonly (readonly [number, number])[];
  readonly endToEndCurve: readonly (readonly [number, number])[];
  readonly peakResidentBytes: number;
  readonly processorSeconds: number;
  readonly storedBytes: number;
  readonly compaction: { readonly jobs: number; readonly readBytes: number; readonly writtenBytes: number };
  readonly samples: readonly LoadSample[];
}

/** Whether every record that was due was sent and acknowledged. */
export function keptUp({ unsent, unanswered, failed }: LoadResult): boolean {
  return unsent === 0 && unanswered === 0 && Object.keys(failed).length === 0;
}
