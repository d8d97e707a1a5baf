/** Reads input runs chunk by chunk, verified, and holds what it reads against what the coordinator says of them. */
import { MillraceError } from '../errors/millrace-error.ts';
import type { ObjectStore } from '../object/object-store.ts';
import { checkSegmentSize, parseTail } from '../segment/footer-parser.ts';
import { TAIL_BYTES } from '../segment/format.ts';
import { segmentCorrupt } from '../segment/errors.ts';
import type { StoredChunk } from '../segment/chunk-reader.ts';
import { streamChunks } from '../segment/chunk-stream.ts';
import { required } from '../base/assert.ts';
import { type BufferAccount, type ByteRange, InputSource, RUN_READ_BYTES, windowBytesFor } from './input-source.ts';
import type { LayoutParent } from './layout.ts';
import type { Pace } from './pace.ts';
import type { RewriteInput, RewriteJob } from './rewrite-job.ts';

export class ParentReader {
  readonly #objects: ObjectStore;
  readonly #job: RewriteJob;
  readonly #pace: Pace;
  readonly #account: BufferAccount;
  readonly #cancelled: Int32Array;
  readonly #sources: Map<string, InputSource> = new Map();

  constructor(objects: ObjectStore, job: RewriteJob, pace: Pace, account: BufferAccount) {
    this.#objects = objects;
    this.#job = job;
    this.#pace = pace;
    this.#account = account;
    this.#cancelled = new Int32Array(job.cancel);
  }

  /** Checks that every input is there and is the object that was committed. */
  async open(): Promise<void> {
    const live = liveRanges(this.#job);
    const windowBytes = windowBytesFor(live.size);
    for (const input of this.#job.inputs) {
      const ranges = live.get(input.key);
      if (ranges === undefined) continue;
      await this.#checkInput(input);
      const read = (position: number, length: number): Promise<Uint8Array> => this.#read(input.key, position, length);
      this.#sources.set(input.key, new InputSource(input.bytes, read, ranges, windowBytes, this.#account));
    }
  }

  /** Yields the run's chunks. A chunk is valid until the next one is asked for. */
  async *chunks(parent: LayoutParent, streamId: number): AsyncGenerator<StoredChunk> {
    const { objectKey, byteOffset: position, byteLength: length, firstOffset: base } = parent;
    const source = required(this.#sources.get(objectKey), 'parents are runs of the inputs').sourceFor(length);
    const range = { objectKey, position, length, streamId, base, readBytes: RUN_READ_BYTES };
    const buffers = Math.min(length, 2 * RUN_READ_BYTES);
    const seen = { chunks: 0, records: 0, nextOffset: undefined as number | undefined };
    this.#account.add(buffers);
    try {
      for await (const chunk of streamChunks(source, range)) {
        const { firstOffset, offsetSpan, recordCount } = chunk.header;
        if (seen.nextOffset === undefined && firstOffset !== base) {
          throw segmentCorrupt(objectKey, position, `the run begins at offset ${firstOffset}, not at ${base}`);
        }
        seen.chunks += 1;
        seen.records += recordCount;
        seen.nextOffset = firstOffset + offsetSpan;
        this.#checkCancelled();
        yield chunk;
      }
    } finally {
      this.#account.add(-buffers);
    }
    checkSeen(parent, seen);
  }

  close(): void {
    for (const source of this.#sources.values()) source.close();
  }

  async #checkInput({ key, bytes, checksum }: RewriteInput): Promise<void> {
    this.#checkCancelled();
    const size = await this.#objects.size(key);
    if (size === undefined) {
      throw new MillraceError('ERR_MILLRACE_OBJECT_NOT_FOUND', `object ${key}, an input, is not in the object store`, {
        details: { key },
      });
    }
    if (size !== bytes) throw segmentCorrupt(key, 0, `the object has ${size} bytes, ${bytes} were committed`);
    checkSegmentSize(size, key);
    const tail = parseTail(await this.#read(key, size - TAIL_BYTES, TAIL_BYTES), size, key);
    const found = tail.checksum.toString(16).padStart(16, '0');
    if (found === checksum) return;
    throw segmentCorrupt(key, size - TAIL_BYTES, `expected the footer checksum ${checksum}, found ${found}`);
  }

  async #read(key: string, position: number, length: number): Promise<Uint8Array> {
    await this.#pace.take(length);
    this.#checkCancelled();
    this.#account.readBytes += length;
    const bytes = await this.#objects.read(key, position, length);
    if (bytes.length === length) return bytes;
    throw segmentCorrupt(key, position, `the object store answered ${bytes.length} bytes of ${length}`);
  }

  #checkCancelled(): void {
    if (Atomics.load(this.#cancelled, 0) === 0) return;
    throw new MillraceError('ERR_MILLRACE_ABORTED', 'the job was given up: its outputs are removed');
  }
}

/** By input, the ranges of all runs that are read; inputs with none are left alone. */
function liveRanges({ layout }: RewriteJob): Map<string, ByteRange[]> {
  const live = new Map<string, ByteRange[]>();
  for (const { runs } of layout.outputs) {
    for (const { parents } of runs) {
      for (const { objectKey, byteOffset: position, byteLength: length } of parents) {
        const ranges = live.get(objectKey);
        if (ranges === undefined) live.set(objectKey, [{ position, length }]);
        else ranges.push({ position, length });
      }
    }
  }
  for (const ranges of live.values()) ranges.sort((left, right) => left.position - right.position);
  return live;
}

function checkSeen(
  { objectKey, byteOffset, chunks, records, nextOffset }: LayoutParent,
  seen: { readonly chunks: number; readonly records: number; readonly nextOffset: number | undefined },
): void {
  if (seen.chunks === chunks && seen.records === records && seen.nextOffset === nextOffset) return;
  const expected = `${chunks} chunks with ${records} records up to offset ${nextOffset}`;
  const found = `${seen.chunks} with ${seen.records} up to ${String(seen.nextOffset)}`;
  throw segmentCorrupt(objectKey, byteOffset, `expected a run of ${expected}, found ${found}`);
}
