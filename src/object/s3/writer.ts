/**
 * Writes one object: as a single request up to the size of two parts where memory allows, as a multipart upload beyond.
 * Parts are copies in memory, so each attempt sends its body from the start.
 *
 * A reply can be lost after its request took effect. The next attempt is then refused because the key exists, by
 * ourselves: a random word stored with the object tells whose it is.
 */
import { createHash } from 'node:crypto';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { assert } from '../../base/assert.ts';
import type { PageArena } from '../../base/page-arena.ts';
import { isMillraceError, MillraceError } from '../../errors/millrace-error.ts';
import { objectExists } from '../object-errors.ts';
import type { ObjectWriter } from '../object-store.ts';
import { deleteObjects, DeletePace } from './deletion.ts';
import { DIGEST_FIELD, headObject, WRITER_FIELD } from './metadata.ts';
import { MultipartUpload } from './multipart-upload.ts';
import type { PartPlan } from './options.ts';
import type { S3Requests } from './requests.ts';
import { errorName } from './s3-errors.ts';

export interface S3WriterOptions {
  readonly memory: PageArena;
  readonly requests: S3Requests;
  readonly key: string;
  readonly parts: PartPlan;
  readonly conditionalWrites: boolean;
  /** Random, and different for each writer. */
  readonly nonce: string;
}

const NO_BYTES = new Uint8Array(0);

/** Refusals that an earlier attempt of the same writer may have caused. */
const MAYBE_OURS: ReadonlySet<string> = new Set(['PreconditionFailed', 'NoSuchUpload']);

export class S3Writer implements ObjectWriter {
  readonly copies = true;
  readonly #options: S3WriterOptions;
  #buffer: Uint8Array;
  #filled = 0;
  #bytes = 0;
  #upload: MultipartUpload | undefined;
  #state: 'open' | 'failed' | 'committed' | 'aborted' = 'open';
  /** The request that makes the object visible was sent: it may exist whatever the answer was. */
  #inDoubt = false;

  constructor(options: S3WriterOptions) {
    this.#options = options;
    this.#buffer = options.memory.take(options.parts.partBytes);
  }

  async write(bytes: Uint8Array): Promise<void> {
    assert(this.#state === 'open', 'a writer takes bytes until it failed or ended');
    await this.#guard(async () => {
      for (let offset = 0; offset < bytes.byteLength;) {
        // A full buffer waits for the next byte: an object of exactly that size is a single request.
        if (this.#filled === this.#buffer.length) await this.#makeRoom();
        const length = Math.min(bytes.byteLength - offset, this.#buffer.length - this.#filled);
        this.#buffer.set(bytes.subarray(offset, offset + length), this.#filled);
        this.#filled += length;
        offset += length;
      }
      this.#bytes += bytes.byteLength;
    });
  }

  async commit(): Promise<number> {
    assert(this.#state === 'open', 'a writer commits once, and not after a failure');
    await this.#guard(() => (this.#upload === undefined ? this.#commitWhole() : this.#commitParts(this.#upload)));
    this.#state = 'committed';
    this.#giveBack();
    return this.#bytes;
  }

  async abort(): Promise<void> {
    if (this.#state === 'committed' || this.#state === 'aborted') return;
    this.#state = 'aborted';
    await this.#upload?.abort();
    this.#giveBack();
    if (!this.#inDoubt) return;
    try {
      const { requests, key } = this.#options;
      if (await this.#isOurs()) await deleteObjects(requests, [key], new DeletePace());
    } catch {
      // The coordinator knows the key and deletes what may be there once its reservation has expired.
    }
  }

  /** The first buffer grows to what a single request takes; beyond, it is the first parts of an upload. */
  async #makeRoom(): Promise<void> {
    const { key, requests, parts, memory } = this.#options;
    const { partBytes, parallelParts, singleBytes } = parts;
    if (this.#upload !== undefined) return this.#sendPart(this.#upload);
    if (this.#buffer.length < singleBytes) {
      const larger = this.#options.memory.take(singleBytes);
      larger.set(this.#buffer);
      this.#giveBack();
      this.#buffer = larger;
      return;
    }
    // Not every server checks the condition on a multipart upload: ask once, before the work.
    await this.#refuseExisting();
    const metadata = this.#metadata();
    const upload = await MultipartUpload.begin({ requests, key, parallelParts, memory, metadata });
    this.#upload = upload;
    if (singleBytes === partBytes) return this.#sendPart(upload);
    const whole = this.#buffer;
    this.#buffer = NO_BYTES;
    for (let from = 0; from < singleBytes; from += partBytes) {
      await upload.add(whole.subarray(from, from + partBytes), partBytes);
    }
    this.#buffer = memory.take(partBytes);
    this.#filled = 0;
  }

  /** Nothing is sent from it any more. */
  #giveBack(): void {
    this.#options.memory.giveBack(this.#buffer);
    this.#buffer = NO_BYTES;
  }

  async #sendPart(upload: MultipartUpload): Promise<void> {
    const full = this.#buffer;
    // It is the upload's from here on, whatever comes of it.
    this.#buffer = NO_BYTES;
    await upload.add(full, this.#filled);
    this.#filled = 0;
    this.#buffer = this.#options.memory.take(this.#options.parts.partBytes);
  }

  async #commitWhole(): Promise<void> {
    const { requests, key, conditionalWrites } = this.#options;
    if (!conditionalWrites) await this.#refuseExisting();
    const body = this.#buffer.subarray(0, this.#filled);
    const digest = createHash('md5').update(body).digest();
    this.#inDoubt = true;
    const stored = await requests.send({
      operation: 'PutObject',
      key,
      send: (client, abortSignal, attempt) =>
        this.#orOurs(attempt, async () => {
          const command = new PutObjectCommand({
            Bucket: requests.bucket,
            Key: requests.remoteKey(key),
            Body: body,
            ContentLength: body.length,
            ContentMD5: digest.toString('base64'),
            Metadata: { ...this.#metadata(), [DIGEST_FIELD]: digest.toString('hex') },
            ...(conditionalWrites ? { IfNoneMatch: '*' } : {}),
          });
          return (await client.send(command, { abortSignal })).ETag;
        }),
    });
    requests.counters.moved('PutObject', body.length);
    // Most servers answer with the digest of what they stored; where they do not, the length is asked for.
    if (stored?.replaceAll('"', '') !== digest.toString('hex')) await this.#checkLength();
  }

  async #commitParts(upload: MultipartUpload): Promise<void> {
    if (this.#filled > 0) await this.#sendPart(upload);
    await upload.finishParts();
    this.#inDoubt = true;
    const { conditionalWrites } = this.#options;
    await upload.complete(conditionalWrites, (attempt, send) => this.#orOurs(attempt, send));
    await this.#checkLength();
  }

  /** Sends; when a repeated attempt is refused, finds out whether an earlier one had succeeded. */
  async #orOurs(attempt: number, send: () => Promise<string | undefined>): Promise<string | undefined> {
    try {
      return await send();
    } catch (error) {
      if (attempt > 0 && MAYBE_OURS.has(errorName(error)) && (await this.#isOurs())) return undefined;
      throw error;
    }
  }

  async #isOurs(): Promise<boolean> {
    const { requests, key, nonce } = this.#options;
    return (await headObject(requests, key))?.writer === nonce;
  }

  async #refuseExisting(): Promise<void> {
    const { requests, key } = this.#options;
    if ((await headObject(requests, key)) !== undefined) throw objectExists(key, requests.place);
  }

  /** An object that is not as long as what was written would be noticed by its first reader, too late. */
  async #checkLength(): Promise<void> {
    const { requests, key } = this.#options;
    const stored = (await headObject(requests, key))?.bytes;
    if (stored === this.#bytes) return;
    throw new MillraceError(
      'ERR_MILLRACE_WRITE_FAILED',
      `${requests.place} stored ${stored ?? 'none'} of the ${this.#bytes} bytes of object ${key}`,
      { details: { key, bytes: this.#bytes, stored: stored ?? null } },
    );
  }

  #metadata(): Record<string, string> {
    return { [WRITER_FIELD]: this.#options.nonce };
  }

  async #guard(action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#state = 'failed';
      const { key, requests } = this.#options;
      if (!isMillraceError(error, 'ERR_MILLRACE_OBJECT_EXISTS')) throw error;
      this.#inDoubt = false;
      throw objectExists(key, requests.place);
    }
  }
}
