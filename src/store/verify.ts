/** Reads every committed object and holds it against its checksums and against what the coordinator says of it. */
import type { Coordinator, ObjectDescription } from '../coordinator/coordinator.ts';
import { isMillraceError } from '../errors/millrace-error.ts';
import type { ObjectStore } from '../object/object-store.ts';
import { verifySegment } from '../segment/verify.ts';

/** One thing found wrong. */
export interface VerifyProblem {
  /** Object, or `manifest`. */
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
  const counts = { chunks: 0, records: 0 };
  let done = 0;
  for (const object of committed) {
    const found = await verifyObject(objects, storeId, object, counts);
    // Compaction may have replaced the object while it was read.
    if (found.length > 0 && (await isCommitted(coordinator, object.key))) {
      for (const problem of found) problems.push({ where: object.key, problem });
    }
    done += object.bytes;
    progress?.(done, bytes);
  }
  return { objects: committed.length, bytes, ...counts, problems };
}

async function verifyObject(
  objects: ObjectStore,
  storeId: Uint8Array,
  { key, bytes, checksum }: ObjectDescription,
  counts: { chunks: number; records: number },
): Promise<string[]> {
  try {
    const size = await objects.size(key);
    if (size !== bytes) return [`${key}: ${size ?? 'no'} bytes where ${bytes} were committed`];
    const source = { size, read: (position: number, length: number) => objects.read(key, position, length) };
    const report = await verifySegment(source, { objectKey: key, storeId, checksum: BigInt(`0x${checksum}`) });
    counts.chunks += report.chunks;
    counts.records += report.records;
    return report.problems.map(({ message }) => message);
  } catch (error) {
    return [isMillraceError(error) ? error.message : String(error)];
  }
}

async function isCommitted(coordinator: Coordinator, key: string): Promise<boolean> {
  const [state] = await coordinator.classifyKeys([key]);
  return state === 'committed';
}
