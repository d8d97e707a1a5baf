/**
 * The parts of one object on their way to S3. A few are sent at once; who adds more waits. Parts that were sent and not
 * completed cost storage although no listing of objects shows them, so every way out but completion aborts the upload.
 */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { assert } from '../../base/assert.ts';
import type { PageArena } from '../../base/page-arena.ts';
import { MillraceError } from '../../errors/millrace-error.ts';
import { md5Base64 } from './client.ts';
import { PARTS_MAX } from './options.ts';
import type { S3Requests } from './requests.ts';

export interface MultipartUploadOptions {
  readonly requests: S3Requests;
  readonly key: string;
  /** Where the memory of parts goes back to. */
  readonly memory: PageArena;
  readonly parallelParts: number;
  readonly metadata: Record<string, string>;
}

/** Runs a request, and may turn a refusal of a repeated one into a success. */
export type Resolve = (attempt: number, send: () => Promise<string | undefined>) => Promise<string | undefined>;

export class MultipartUpload {
  readonly #options: MultipartUploadOptions;
  readonly #uploadId: string;
  /** ETags by part; empty until the part's answer. */
  readonly #etags: string[] = [];
  readonly #sending = new Set<Promise<void>>();
  /** Ends the other parts when one has failed. */
  readonly #stop = new AbortController();
  #failure: { readonly error: unknown } | undefined;

  private constructor(options: MultipartUploadOptions, uploadId: string) {
    this.#options = options;
    this.#uploadId = uploadId;
  }

  static async begin(options: MultipartUploadOptions): Promise<MultipartUpload> {
    const { requests, key, metadata } = options;
    const uploadId = await requests.send({
      operation: 'CreateMultipartUpload',
      key,
      send: async (client, abortSignal) => {
        const place = { Bucket: requests.bucket, Key: requests.remoteKey(key) };
        const command = new CreateMultipartUploadCommand({ ...place, Metadata: metadata });
        const { UploadId } = await client.send(command, { abortSignal });
        if (UploadId === undefined) throw answerIncomplete('CreateMultipartUpload', requests.place);
        return UploadId;
      },
    });
    return new MultipartUpload(options, uploadId);
  }

  /** Sends the first `length` bytes of `buffer`, which it gives back, as the next part. */
  async add(buffer: Uint8Array, length: number): Promise<void> {
    assert(length > 0 && this.#etags.length < PARTS_MAX, 'a part holds bytes, and their number is bounded');
    const { parallelParts, memory } = this.#options;
    while (this.#sending.size >= Math.max(1, parallelParts)) await Promise.race(this.#sending);
    if (this.#failure !== undefined) memory.giveBack(buffer);
    this.#throwFailure();
    this.#etags.push('');
    const sending = this.#send(this.#etags.length, buffer, length)
      .catch((error: unknown) => {
        this.#failure ??= { error };
        this.#stop.abort();
      })
      .finally(() => {
        memory.giveBack(buffer);
        this.#sending.delete(sending);
      });
    this.#sending.add(sending);
    if (parallelParts > 0) return;
    await sending;
    this.#throwFailure();
  }

  /** Waits for every part. */
  async finishParts(): Promise<void> {
    await Promise.all(this.#sending);
    this.#throwFailure();
    assert(
      this.#etags.every((etag) => etag !== ''),
      'every part has arrived',
    );
  }

  async complete(conditionalWrites: boolean, resolve: Resolve): Promise<void> {
    const { requests } = this.#options;
    const Parts = this.#etags.map((ETag, index) => ({ ETag, PartNumber: index + 1 }));
    await requests.send({
      operation: 'CompleteMultipartUpload',
      key: this.#options.key,
      send: (client, abortSignal, attempt) =>
        resolve(attempt, async () => {
          const command = new CompleteMultipartUploadCommand({
            ...this.#place(),
            MultipartUpload: { Parts },
            ...(conditionalWrites ? { IfNoneMatch: '*' } : {}),
          });
          return (await client.send(command, { abortSignal })).ETag;
        }),
    });
  }

  /** Never rejects: what cannot be aborted now is found by the search for unfinished uploads. */
  async abort(): Promise<void> {
    this.#stop.abort();
    // A part that arrives after the abort would stay.
    await Promise.all(this.#sending);
    const { requests, key } = this.#options;
    await abortUpload(requests, key, this.#uploadId).catch(() => undefined);
  }

  async #send(partNumber: number, buffer: Uint8Array, length: number): Promise<void> {
    const { requests, key } = this.#options;
    const body = buffer.subarray(0, length);
    const digest = md5Base64(body);
    const etag = await requests.send({
      operation: 'UploadPart',
      key,
      signal: this.#stop.signal,
      send: async (client, abortSignal) => {
        const part = { PartNumber: partNumber, Body: body, ContentLength: length, ContentMD5: digest };
        const { ETag } = await client.send(new UploadPartCommand({ ...this.#place(), ...part }), { abortSignal });
        if (ETag === undefined) throw answerIncomplete('UploadPart', requests.place);
        return ETag;
      },
    });
    requests.counters.moved('UploadPart', length);
    this.#etags[partNumber - 1] = etag;
  }

  #place(): { Bucket: string; Key: string; UploadId: string } {
    const { requests, key } = this.#options;
    return { Bucket: requests.bucket, Key: requests.remoteKey(key), UploadId: this.#uploadId };
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

/** Aborts an upload; one that is gone already is not an error. */
export async function abortUpload(requests: S3Requests, key: string, uploadId: string): Promise<void> {
  await requests.send({
    operation: 'AbortMultipartUpload',
    key,
    send: async (client, abortSignal) => {
      const place = { Bucket: requests.bucket, Key: requests.remoteKey(key) };
      const command = new AbortMultipartUploadCommand({ ...place, UploadId: uploadId });
      await client.send(command, { abortSignal }).catch((error: unknown) => {
        if ((error as { name?: unknown }).name !== 'NoSuchUpload') throw error;
      });
    },
  });
}

function answerIncomplete(operation: string, place: string): MillraceError {
  return new MillraceError('ERR_MILLRACE_UNAVAILABLE', `the answer to ${operation} from ${place} is incomplete`);
}
