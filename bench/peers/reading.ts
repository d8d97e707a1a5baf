/** Reads of a peer that was filled before, by another process. */
import { percentile } from '../statistics.ts';
import type { PeerLog } from './peer.ts';
import { processorSeconds } from './processor.ts';

/** A prime: goes through all records without an order that a cache could follow. */
const STRIDE = 7_368_787;
const WINDOW = 64;

export interface Scanned {
  readonly seconds: number;
  readonly processorSeconds: number;
}

/** Reads every record once; throws unless all are there. */
export async function scanAll(log: PeerLog, records: number, recordBytes: number): Promise<Scanned> {
  const processorBefore = processorSeconds(log);
  const begun = performance.now();
  let found = 0;
  let bytes = 0;
  await log.scan((value) => {
    found += 1;
    bytes += value.length;
  });
  const seconds = (performance.now() - begun) / 1_000;
  const processor = processorSeconds(log) - processorBefore;
  if (found !== records || bytes !== records * recordBytes) {
    throw new Error(`the scan found ${found} records with ${bytes} bytes where ${records} were written`);
  }
  return { seconds, processorSeconds: processor };
}

/** Records a second, 64 at a time; peers that answer at once are asked one after the other. */
export async function getMany(log: PeerLog, records: number, reads: number, recordBytes: number): Promise<number> {
  const begun = performance.now();
  let next = 0;
  const reader = async (): Promise<void> => {
    while (next < reads) {
      const answer = log.get(indexOf(next++, records));
      requireRecord(answer instanceof Promise ? await answer : answer, recordBytes);
    }
  };
  await Promise.all(Array.from({ length: WINDOW }, reader));
  return reads / ((performance.now() - begun) / 1_000);
}

/** Microseconds of a single read. */
export async function getOneByOne(
  log: PeerLog,
  records: number,
  reads: number,
  recordBytes: number,
): Promise<{ p50: number; p99: number }> {
  const times = new Float64Array(reads);
  for (let read = 0; read < reads; read += 1) {
    const begun = performance.now();
    const answer = log.get(indexOf(read + reads, records));
    requireRecord(answer instanceof Promise ? await answer : answer, recordBytes);
    times[read] = (performance.now() - begun) * 1_000;
  }
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}

function indexOf(read: number, records: number): number {
  return (read * STRIDE) % records;
}

function requireRecord(value: Uint8Array | undefined, recordBytes: number): void {
  if (value?.length !== recordBytes) throw new Error(`a record was read with ${value?.length ?? 'no'} bytes`);
}
