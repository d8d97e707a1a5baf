/** How much each workload moves, in full and in a quick run. */
import { join } from 'node:path';
import { open, type Store, type Stream } from '../../src/index.ts';
import { KIB, MIB } from '../../src/limits/limits.ts';
import type { Setting } from '../workload.ts';

export interface RecordSize {
  /** As names of workloads have it. */
  readonly label: string;
  readonly text: string;
  readonly bytes: number;
}

/** Sizes that every workload on records is made for. */
export const RECORD_SIZES: readonly RecordSize[] = [
  { label: '100', text: '100 B', bytes: 100 },
  { label: '1k', text: '1 KiB', bytes: KIB },
  { label: '16k', text: '16 KiB', bytes: 16 * KIB },
];

/** User bytes that fit the default ring of 128 MiB together with headers, even in the smallest records. */
const BURST_BYTES = 96 * MIB;
const BURST_BYTES_QUICK = 8 * MIB;

/** Records of a burst that fits the ring. */
export function burstRecords(setting: Setting, recordBytes: number): number {
  return Math.floor((setting.quick ? BURST_BYTES_QUICK : BURST_BYTES) / recordBytes);
}

/** Where the workload's store lies; what else it needs lies beside it. */
export function storeDirectory(setting: Setting): string {
  return join(setting.dir, 'store');
}

/** A store with default options, and a stream in it. */
export async function openStream(setting: Setting): Promise<{ store: Store; stream: Stream }> {
  const store = await open(storeDirectory(setting));
  return { store, stream: await store.stream('records') };
}
