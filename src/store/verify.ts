/** Reads every committed object and holds it against its checksums and against what the coordinator says of it. */
import { throwIfAborted } from '../errors/aborted.ts';
import type { Coordinator, ObjectDescription } from '../coordinator/coordinator.ts';
import { isMillraceError } from '../errors/millrace-error.ts';
import type { ObjectStore } from '../object/object-store.ts';
import { verifySegment } from '../segment/verify.ts';

/** One thing found wrong. */
export interface VerifyProblem {
  /** Object, or `manifest`. */
  readonly where: string;
  /** What is wrong, for people. */
  readonly problem: string;
  /** What a damaged or missing object held: a part of it or all may be lost. */
  readonly held?: readonly HeldRange[];
}

/** Offsets of a stream: [firstOffset, nextOffset). */
export interface HeldRange {
  /** Name of the stream. */
  readonly stream: string;
  /** First offset of the range. */
  readonly firstOffset: number;
  /** One past its last offset. */
  readonly nextOffset: number;
}

/** What a check of all bytes found. */
export interface VerifyReport {
  /** Segments that were read. */
  readonly objects: number;
  /** Their size in all. */
  readonly bytes: number;
  /** Chunks in them. */
  readonly chunks: number;
  /** User records in them. */
  readonly records: number;
  /** What is wrong; empty when the store is intact. */
  readonly problems: readonly VerifyProblem[];
}

/** How a store is verified. */
export interface VerifyOptions {
  /** Ends the work between two objects, with `ERR_MILLRACE_ABORTED`. */
  readonly signal?: AbortSignal;
  /** Called after each object. */
  readonly progress?: (doneBytes: number, totalBytes: number) => void;
}

/** An object as it was committed. */
type CommittedObject = Pick<ObjectDescription, 'key' | 'bytes' | 'checksum'>;

/** Never throws for damage: everything found is in the report. */
export async function verifyStore(
  coordinator: Coordinator,
  objects: ObjectStore,
  storeId: Uint8Array,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const inManifest = (await coordinator.verify()).map((problem) => ({ where: 'manifest', problem }));
  const committed = await coordinator.listObjects({ state: 'committed' });
  const report = await verifyObjects(objects, storeId, committed, options, async (key) =>
    // Compaction may have replaced the object while it was read.
    (await isCommitted(coordinator, key)) ? { held: await heldBy(coordinator, key) } : undefined,
  );
  return { ...report, problems: [...inManifest, ...report.problems] };
}

/** `judge`: what is known of a damaged object; `undefined` when it is nobody's any more. */
export async function verifyObjects(
  objects: ObjectStore,
  storeId: Uint8Array,
  committed: readonly CommittedObject[],
  { signal, progress }: VerifyOptions,
  judge: (key: string) => Promise<Pick<VerifyProblem, 'held'> | undefined> = () => Promise.resolve({}),
): Promise<VerifyReport> {
  const problems: VerifyProblem[] = [];
  const bytes = committed.reduce((sum, object) => sum + object.bytes, 0);
  const counts = { chunks: 0, records: 0 };
  let done = 0;
  for (const object of committed) {
    throwIfAborted(signal);
    const found = await verifyObject(objects, storeId, object, counts);
    const known = found.length > 0 ? await judge(object.key) : undefined;
    if (known !== undefined) for (const problem of found) problems.push({ where: object.key, problem, ...known });
    done += object.bytes;
    progress?.(done, bytes);
  }
  return { objects: committed.length, bytes, ...counts, problems };
}

async function verifyObject(
  objects: ObjectStore,
  storeId: Uint8Array,
  { key, bytes, checksum }: CommittedObject,
  counts: { chunks: number; records: number },
): Promise<string[]> {
  try {
    const size = await objects.size(key);
    if (size !== bytes) return [size === undefined ? 'it is missing' : `${size} bytes where ${bytes} were committed`];
    const source = { size, read: (position: number, length: number) => objects.read(key, position, length) };
    const report = await verifySegment(source, { objectKey: key, storeId, checksum: BigInt(`0x${checksum}`) });
    counts.chunks += report.chunks;
    counts.records += report.records;
    return report.problems.map((problem) => describe(problem, key));
  } catch (error) {
    return [describe(error, key)];
  }
}

async function isCommitted(coordinator: Coordinator, key: string): Promise<boolean> {
  const [state] = await coordinator.classifyKeys([key]);
  return state === 'committed';
}

/** The place is told beside it, and whoever reads it is verifying already. */
function describe(error: unknown, key: string): string {
  if (!isMillraceError(error)) return String(error);
  const { problem, position } = error.details;
  if (typeof problem === 'string' && typeof position === 'number') return `byte ${position}: ${problem}`;
  return error.message.replaceAll(`segment ${key} `, '').replaceAll(`${key}: `, '');
}

async function heldBy(coordinator: Coordinator, key: string): Promise<HeldRange[]> {
  const names = new Map((await coordinator.streams()).map(({ streamId, name }) => [streamId, name]));
  const ranges: HeldRange[] = [];
  for (const { streamId, firstOffset, endOffset } of await coordinator.objectRuns(key)) {
    const stream = names.get(streamId);
    if (stream !== undefined) ranges.push({ stream, firstOffset, nextOffset: endOffset });
  }
  return ranges;
}
