/**
 * The state as bytes that do not depend on a directory: what a backup keeps, and what a restored manifest is made from.
 * It is the chain of a snapshot, without what concerns the log and work under way.
 */
import { streamTotals } from '../queries/stream-queries.ts';
import { keyOf, type State } from '../state/state.ts';
import type { FileIdentity } from './block-writer.ts';
import { FileWindow, type WindowSource } from './file-window.ts';
import { BLOCK_KIND } from './format.ts';
import { writeGeneration } from './manifest.ts';
import type { ManifestPlace } from './place.ts';
import { readSnapshot } from './snapshot-reader.ts';
import { settledRowsOf, snapshotBlocks } from './snapshot-writer.ts';

/** An object that the state needs. */
export interface ImageObject {
  readonly key: string;
  readonly bytes: number;
  /** Of its footer: 16 lower-case hexadecimal digits. */
  readonly checksum: string;
}

/** A state at one instant. */
export interface StateFacts {
  /** The coordinator's time. */
  readonly now: number;
  readonly streams: number;
  /** Readable records; see `StreamTotals`. */
  readonly records: number;
  /** By ascending number. */
  readonly objects: readonly ImageObject[];
}

/** Where an image lies, and whose it is. */
export interface ImagePlace {
  readonly storeId: Uint8Array;
  /** Of the image among those of its store. */
  readonly number: number;
  /** Of its first byte in what holds it: a multiple of 8. */
  readonly position: number;
}

export interface StateImage extends StateFacts {
  readonly encoded: Uint8Array;
}

function identityOf({ storeId, number }: ImagePlace): FileIdentity {
  return { kind: BLOCK_KIND.snapshot, storeId, fileNumber: number };
}

export function factsOf(state: State): StateFacts {
  const objects: ImageObject[] = [];
  for (const object of state.objects.values()) {
    const { bytes, checksum } = object;
    if (object.state === 'committed') objects.push({ key: keyOf(object), bytes, checksum });
  }
  let records = 0;
  for (const stream of state.streams.values()) records += streamTotals(state, stream).records;
  return { now: state.now, streams: state.streams.size, records, objects };
}

/** Encodes in one go: between two events the state is whole. */
export function imageOf(state: State, place: ImagePlace): StateImage {
  const parts: Uint8Array[] = [];
  const start = { sequence: 0, previous: 0n, position: place.position };
  for (const { bytes } of snapshotBlocks(identityOf(place), start, settledRowsOf(state))) parts.push(bytes.slice());
  return { ...factsOf(state), encoded: Buffer.concat(parts) };
}

/** Reads an image back. Throws `ERR_MILLRACE_MANIFEST_CORRUPT`, `ERR_MILLRACE_FORMAT_TOO_NEW`. */
export async function decodeImage(source: WindowSource, size: number, place: ImagePlace): Promise<State> {
  const { state } = await readSnapshot(new FileWindow(source, size), identityOf(place), place.position);
  return state;
}

/** Makes a manifest of a state in an empty directory. `checksums`: those that objects have there, by key. */
export async function writeManifestOf(
  state: State,
  place: ManifestPlace,
  checksums: ReadonlyMap<string, string>,
): Promise<void> {
  for (const object of state.objects.values()) object.checksum = checksums.get(keyOf(object)) ?? object.checksum;
  const { log } = await writeGeneration(place, 1, state);
  await log.close();
}
