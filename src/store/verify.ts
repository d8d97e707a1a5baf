/** Reads every committed object and holds it against its checksums and against what the coordinator says of it. */
import type { Coordinator, ObjectDescription } from '../coordinator/coordinator.ts';
import { isMillraceError } from '../errors/millrace-error.ts';
import type { ObjectStore } from '../object/object-store.ts';
import { RecordBatch } from '../record/record-batch.ts';
import { chunkBody } from '../segment/chunk-reader.ts';
import { SegmentReader } from '../segment/reader.ts';

/** One thing found wrong. */
export interface VerifyProblem {
  /** Object, stream or file it concerns. */
  readonly where: string;
  readonly problem: string;
}

export interface VerifyReport {
  readonly objects: number;
  readonly bytes: number;
  readonly chunks: number;
  readonly records: number;
  readonly problems: readonly VerifyProblem[];
}

interface Tally {
  chunks: number;
  records: number;
}

/** Never throws for damage: everything found is in the report. */
export async function verifyStore(
  coordinator: Coordinator,
  objects: ObjectStore,
  storeId: Uint8Array,
  progress?: (doneBytes: number, totalBytes: number) => void,
): Promise<VerifyReport> {
  const problems: VerifyProblem[] = [];
  for (const problem of await coordinator.verify()) problems.push({ where: 'manifest', problem });
  const committed = await coordinator.listObjects({ state: 'committed' });
  const bytes = committed.reduce((sum, object) => sum + object.bytes, 0);
  const tally: Tally = { chunks: 0, records: 0 };
  let done = 0;
  for (const object of committed) {
    try {
      await verifyObject(objects, storeId, object, tally);
    } catch (error) {
      const stillThere = await coordinator.listObjects({ state: 'committed' });
      // Compaction may have replaced the object while it was read.
      if (stillThere.some(({ key }) => key === object.key)) {
        problems.push({ where: object.key, problem: isMillraceError(error) ? error.message : String(error) });
      }
    }
    done += object.bytes;
    progress?.(done, bytes);
  }
  return { objects: committed.length, bytes, ...tally, problems };
}

async function verifyObject(
  objects: ObjectStore,
  storeId: Uint8Array,
  object: ObjectDescription,
  tally: Tally,
): Promise<void> {
  const { key, bytes, checksum } = object;
  const size = await objects.size(key);
  if (size !== bytes) throw new Error(`${size ?? 'no'} bytes where ${bytes} were committed`);
  const source = { size, read: (position: number, length: number) => objects.read(key, position, length) };
  const reader = await SegmentReader.open(source, { objectKey: key, storeId });
  const found = reader.footer.checksum.toString(16).padStart(16, '0');
  if (found !== checksum) throw new Error(`footer checksum ${found} where ${checksum} was committed`);
  for (const run of reader.footer.listRuns()) {
    for await (const chunk of reader.chunks(run)) {
      tally.chunks += 1;
      if (chunk.header.recordCount === 0) continue;
      const origin = { name: `${key}@${chunk.position}`, baseOffset: 0 };
      const batch = RecordBatch.decode(chunkBody(chunk), origin, 0, Infinity);
      if (batch.length !== chunk.header.recordCount) {
        throw new Error(`${batch.length} records at ${chunk.position} where its header has ${chunk.header.recordCount}`);
      }
      tally.records += batch.length;
    }
  }
}
