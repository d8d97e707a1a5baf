/** Copies one segment from one object store to another, in a pool worker: writers of directories block. */
import type { ObjectStore, ObjectStoreDescriptor } from '../object/object-store.ts';
import { type CopiedSegment, copySegment } from '../segment/copy.ts';

/** Plain data: it crosses a thread. */
export interface CopyJob {
  readonly type: 'copy';
  readonly from: ObjectStoreDescriptor;
  readonly to: ObjectStoreDescriptor;
  readonly key: string;
  readonly bytes: number;
  /** Of the original's footer: 16 hexadecimal digits. */
  readonly checksum: string;
  /** Of the original. */
  readonly storeId: Uint8Array;
  /** Whose the copy is; by default the original's. */
  readonly newStoreId?: Uint8Array;
}

/** Where copies are made: worker threads in production, in place in tests. */
export interface CopyRunner {
  copy(job: CopyJob): Promise<CopiedSegment>;
  close(): Promise<void>;
}

export async function runCopyJob(job: CopyJob, from: ObjectStore, to: ObjectStore): Promise<CopiedSegment> {
  const { key: objectKey, bytes: size, storeId } = job;
  const source = { size, read: (position: number, length: number) => from.read(objectKey, position, length) };
  const expected = { objectKey, storeId, checksum: BigInt(`0x${job.checksum}`) };
  return copySegment(source, expected, await to.create(objectKey), job.newStoreId);
}

export function checksumText(checksum: bigint): string {
  return checksum.toString(16).padStart(16, '0');
}
