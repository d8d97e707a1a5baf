/** Reading a stream from its segments, oldest record first. */
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Stream } from '../../src/index.ts';
import { MIB } from '../../src/limits/limits.ts';
import { recordGroups, recordPool } from '../../src/cli/load/records.ts';
import { takeTurns, type Session, type Setting, type Target, type Workload } from '../workload.ts';
import { openStream, type RecordSize } from './sizes.ts';

const BYTES = 512 * MIB;
const BYTES_QUICK = 8 * MIB;
const READ_BYTES = MIB;

/** What has to be reached, by size; the floor is of no use here, since it keeps nothing that could be checked. */
const TARGETS: Readonly<Record<string, { batches?: Target; bytes?: Target; read?: Target; reused?: Target }>> = {
  '100': { batches: atLeast(5e6), read: atLeast(1.5e6) },
  '1k': { bytes: atLeast(1e9), reused: atLeast(1e9) },
};

export function scan(size: RecordSize): Workload {
  const targets = TARGETS[size.label] ?? {};
  return {
    name: `scan-${size.label}`,
    what:
      `reads ${size.text} records from segments: every record of readBatches, into new memory or with the option reuse, ` +
      'and one by one with read',
    floor: 'reads a file of the same records through the page cache, 1 MiB at a time, and makes a view of each record',
    figures: [
      { name: 'readBatches', unit: 'records/s', better: 'higher', ...targeted(targets.batches) },
      { name: 'readBatches bytes', unit: 'bytes/s', better: 'higher', ...targeted(targets.bytes) },
      { name: 'reused bytes', unit: 'bytes/s', better: 'higher', ...targeted(targets.reused) },
      { name: 'read', unit: 'records/s', better: 'higher', ...targeted(targets.read) },
    ],
    roundsMax: 5,
    prepare: (setting) => prepare(setting, size.bytes),
  };
}

function atLeast(limit: number): Target {
  return { subject: 'value', bound: 'at least', limit };
}

function targeted(target: Target | undefined): { target?: Target } {
  return target === undefined ? {} : { target };
}

async function prepare(setting: Setting, recordBytes: number): Promise<Session> {
  const { store, stream } = await openStream(setting);
  const pool = recordPool(recordBytes);
  const groups = recordGroups(pool, Math.min(pool.length, Math.floor(MIB / recordBytes)));
  const groupSize = groups[0]!.length;
  const calls = Math.floor((setting.quick ? BYTES_QUICK : BYTES) / recordBytes / groupSize);
  const count = calls * groupSize;
  for (let call = 0; call < calls; call += 1) await stream.appendMany(groups[call % groups.length]!);
  await store.flush();
  const path = join(setting.dir, 'plain-records');
  writePlain(path, groups, calls);
  return {
    round: takeTurns(
      () => {
        const rate = count / timed(() => scanPlain(path, recordBytes), count);
        return {
          readBatches: rate,
          'readBatches bytes': rate * recordBytes,
          'reused bytes': rate * recordBytes,
          read: rate,
        };
      },
      async () => {
        const byBatches = count / (await timedAsync(() => scanBatches(stream, false), count * recordBytes));
        const reused = count / (await timedAsync(() => scanBatches(stream, true), count * recordBytes));
        const byRecords = count / (await timedAsync(() => scanRecords(stream), count * recordBytes));
        return {
          readBatches: byBatches,
          'readBatches bytes': byBatches * recordBytes,
          'reused bytes': reused * recordBytes,
          read: byRecords,
        };
      },
    ),
    close: () => store.close(),
  };
}

async function scanBatches(stream: Stream, reuse: boolean): Promise<number> {
  let bytes = 0;
  for await (const batch of stream.readBatches({ reuse })) {
    for (let index = 0; index < batch.length; index += 1) bytes += batch.record(index).value!.length;
  }
  return bytes;
}

async function scanRecords(stream: Stream): Promise<number> {
  let bytes = 0;
  for await (const { value } of stream.read()) bytes += value!.length;
  return bytes;
}

function writePlain(path: string, groups: readonly (readonly Buffer[])[], calls: number): void {
  const file = openSync(path, 'w');
  for (let call = 0; call < calls; call += 1) writeSync(file, Buffer.concat(groups[call % groups.length]!));
  closeSync(file);
}

/** Views of all records, whose count is returned. */
function scanPlain(path: string, recordBytes: number): number {
  const buffer = Buffer.allocUnsafe(Math.floor(READ_BYTES / recordBytes) * recordBytes);
  const file = openSync(path, 'r');
  let records = 0;
  for (let read = readSync(file, buffer); read > 0; read = readSync(file, buffer)) {
    for (let at = 0; at < read; at += recordBytes) records += buffer.subarray(at, at + recordBytes).length > 0 ? 1 : 0;
  }
  closeSync(file);
  return records;
}

/** Seconds that `work` takes; throws unless it returns what it has to. */
function timed(work: () => number, expected: number): number {
  const begun = performance.now();
  requireEqual(work(), expected);
  return (performance.now() - begun) / 1_000;
}

async function timedAsync(work: () => Promise<number>, expected: number): Promise<number> {
  const begun = performance.now();
  requireEqual(await work(), expected);
  return (performance.now() - begun) / 1_000;
}

function requireEqual(found: number, expected: number): void {
  if (found !== expected) throw new Error(`the scan found ${found} where ${expected} were written`);
}
