/** Objects in a bucket of S3, or of any server that speaks it. Loaded only through `millrace/s3`. */
import { throwIfAborted } from '../../errors/aborted.ts';
import { inspect } from 'node:util';
import { systemRandom } from '../../base/random.ts';
import { PageArena } from '../../base/page-arena.ts';
import { MIB } from '../../limits/limits.ts';
import { S3_MODULE } from '../own-modules.ts';
import { checkRange } from '../object-errors.ts';
import { checkObjectKey } from '../object-key.ts';
import type { ObjectEntry, ObjectStore, ObjectStoreComponent, ObjectWriter, WriterMemory } from '../object-store.ts';
import type { RequestCounts, RequestTally } from '../request-tally.ts';
import type { RetryEnvironment } from '../retry.ts';
import { openRequests } from './client.ts';
import { DeletePace, deleteObjects } from './deletion.ts';
import { listObjects, listUnfinishedUploads } from './listing.ts';
import { headObject } from './metadata.ts';
import { abortUpload } from './multipart-upload.ts';
import { checkS3Options, planParts, type S3Options, writerMemoryOf } from './options.ts';
import { readRange, streamRange } from './reader.ts';
import type { S3Requests } from './requests.ts';
import { S3Writer } from './writer.ts';

const NONCE_BYTES = 16;
/** What is not touched takes no memory. Writers that want more at once get memory of their own. */
const WRITERS_BYTES: number = 64 * MIB;

export class S3ObjectStore implements ObjectStore {
  readonly #requests: S3Requests;
  readonly #options: S3Options;
  readonly #pace = new DeletePace();
  /** Of parts, used again by the writers that follow: left to the collector, they would count until it runs. */
  #memory: PageArena | undefined;

  constructor(options: S3Options, environment?: RetryEnvironment) {
    this.#options = checkS3Options(options);
    this.#requests = openRequests(this.#options, environment);
  }

  /** Requests sent and errors met, by name. */
  get counters(): RequestCounts {
    return this.#requests.counters;
  }

  tally(): RequestTally {
    return this.#requests.counters.tally();
  }

  get writerMemory(): WriterMemory {
    return writerMemoryOf(this.#options);
  }

  async create(key: string, memory?: number, bytes?: number): Promise<ObjectWriter> {
    checkObjectKey(key);
    this.#memory ??= new PageArena(WRITERS_BYTES);
    return new S3Writer({
      memory: this.#memory,
      requests: this.#requests,
      key,
      parts: planParts(this.#options, memory, bytes),
      conditionalWrites: this.#options.conditionalWrites ?? true,
      nonce: Buffer.from(systemRandom.bytes(NONCE_BYTES)).toString('hex'),
    });
  }

  async read(
    key: string,
    position: number,
    length: number,
    signal?: AbortSignal,
    into?: Uint8Array,
  ): Promise<Uint8Array> {
    checkRange(position, length);
    checkObjectKey(key);
    throwIfAborted(signal);
    return readRange(this.#requests, { key, position, length, into }, signal);
  }

  async *stream(
    key: string,
    position: number,
    length: number,
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, void> {
    checkRange(position, length);
    checkObjectKey(key);
    yield* streamRange(this.#requests, { key, position, length }, signal);
  }

  async size(key: string): Promise<number | undefined> {
    checkObjectKey(key);
    return (await headObject(this.#requests, key))?.bytes;
  }

  delete(keys: readonly string[]): Promise<string[]> {
    return deleteObjects(this.#requests, keys, this.#pace);
  }

  list(prefix = ''): AsyncIterable<ObjectEntry> {
    return listObjects(this.#requests, prefix);
  }

  /** Aborts multipart uploads: a process that was stopped in the middle of one leaves its parts behind. */
  async removeUnfinished(startedBefore: number, dryRun = false): Promise<number> {
    let count = 0;
    for await (const { key, uploadId, startedAt } of listUnfinishedUploads(this.#requests)) {
      if (startedAt >= startedBefore) continue;
      if (!dryRun) await abortUpload(this.#requests, key, uploadId);
      count += 1;
    }
    return count;
  }

  async close(): Promise<void> {
    this.#requests.close();
    this.#memory?.close();
  }
}

/** Builds the store that a descriptor of this module describes. */
export async function openObjectStore(options: unknown): Promise<S3ObjectStore> {
  return new S3ObjectStore(checkS3Options(options));
}

/**
 * Describes a bucket for `open({ objects })`. Nothing is sent before the store is opened. Printing the result, or
 * turning it into JSON, leaves the credentials out.
 */
export function describeS3Store(options: S3Options): ObjectStoreComponent {
  const checked = structuredClone(checkS3Options(options));
  const { credentials, ...shown } = checked;
  const summary = { ...shown, ...(credentials === undefined ? {} : { credentials: '[redacted]' }) };
  const component = {
    descriptor: { module: S3_MODULE, options: { ...checked } },
    open: () => openObjectStore(checked),
  };
  Object.defineProperty(component, 'descriptor', { enumerable: false });
  Object.defineProperty(component, 'toJSON', { value: () => summary });
  Object.defineProperty(component, inspect.custom, { value: () => `s3 ${inspect(summary)}` });
  return component;
}
