/** Reads input runs chunk by chunk, verified, and holds what it reads against what the coordinator says of them. */
import { SpareMemory } from '../base/spare-memory.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import type { ObjectStore } from '../object/object-store.ts';
import { checkSegmentSize, parseTail } from '../segment/footer-parser.ts';
import { TAIL_BYTES } from '../segment/format.ts';
import { segmentCorrupt } from '../segment/errors.ts';
import type { StoredChunk } from '../segment/chunk-reader.ts';
import { streamChunks } from '../segment/chunk-stream.ts';
import { required } from '../base/assert.ts';
import { type BufferAccount, InputSource, type ReadBytes, WindowMemory } from './input-source.ts';
import { planInputs, RUN_READ_BYTES } from './input-windows.ts';
import type { LayoutParent } from './layout.ts';
import type { Pace } from './pace.ts';
import type { RewriteInput, RewriteJob } from './rewrite-job.ts';

/** Reads of one run in memory: the one whose chunks are looked at, and the next. */
const RUN_READS = 2;

export class ParentReader {
  readonly #objects: ObjectStore;
  readonly #job: RewriteJob;
  readonly #pace: Pace;
  readonly #account: BufferAccount;
  readonly #cancelled: Int32Array;
  readonly #runMemory: SpareMemory = new SpareMemory(RUN_READS);
  readonly #sources: Map<string, InputSource> = new Map();
  #windows: WindowMemory | undefined;
  #writerBytes: number | undefined;

  constructor(objects: ObjectStore, job: RewriteJob, pace: Pace, account: BufferAccount) {
    this.#objects = objects;
    this.#job = job;
    this.#pace = pace;
    this.#account = account;
    this.#cancelled = new Int32Array(job.cancel);
  }

  /** What the writer of an output may hold, once the inputs are open; `undefined` where writers hold nothing. */
  get writerBytes(): number | undefined {
    return this.#writerBytes;
  }

  /** Checks that every input is there and is the object that was committed. */
  async open(): Promise<void> {
    const { layout, inputs: committed, memoryBytes } = this.#job;
    const { inputs, windows, writerBytes } = planInputs(layout, committed, memoryBytes, this.#objects.writerMemory);
    this.#writerBytes = writerBytes;
    const memory = new WindowMemory(windows);
    this.#windows = memory;
    const account = this.#account;
    const opened = await Promise.allSettled(
      inputs.map(async ({ input, plan }) => {
        const read: ReadBytes = (position, length, into) => this.#read(input.key, position, length, into);
        const source = new InputSource({ size: input.bytes, read, plan, memory, account });
        this.#sources.set(input.key, source);
        await checkInput(input, plan.whole ? (position, length) => source.read(position, length) : read);
      }),
    );
    for (const outcome of opened) if (outcome.status === 'rejected') throw outcome.reason;
    for (const source of this.#sources.values()) source.begin();
  }

  /** Yields the run's chunks. A chunk is valid until the next one is asked for. */
  async *chunks(parent: LayoutParent, streamId: number): AsyncGenerator<StoredChunk> {
    const { objectKey, byteOffset: position, byteLength: length, firstOffset, nextOffset } = parent;
    const input = required(this.#sources.get(objectKey), 'parents are runs of the inputs');
    const source = input.sourceFor(length);
    const run = { streamId, firstOffset, nextOffset, base: firstOffset };
    const windowed = input.isWindowed(length);
    // Windows are not given away.
    const memory = windowed ? {} : { memory: this.#runMemory };
    const range = { objectKey, position, length, ...run, readBytes: RUN_READ_BYTES, ...memory };
    const buffers = windowed ? 0 : Math.min(length, RUN_READS * RUN_READ_BYTES);
    const seen = { chunks: 0, records: 0 };
    this.#account.add(buffers);
    try {
      for await (const chunk of streamChunks(source, range)) {
        seen.chunks += 1;
        seen.records += chunk.header.recordCount;
        this.#checkCancelled();
        yield chunk;
      }
    } finally {
      this.#account.add(-buffers);
    }
    checkSeen(parent, seen);
  }

  /** The run is not read again. */
  done({ objectKey, byteOffset, byteLength }: LayoutParent): void {
    this.#sources.get(objectKey)?.done(byteOffset + byteLength);
  }

  close(): void {
    for (const source of this.#sources.values()) source.close();
    this.#windows?.close();
  }

  async #read(key: string, position: number, length: number, into?: Uint8Array): Promise<Uint8Array> {
    await this.#pace.take(length);
    this.#checkCancelled();
    this.#account.readBytes += length;
    this.#account.reads += 1;
    const bytes = await this.#objects.read(key, position, length, undefined, into);
    if (bytes.length === length) return bytes;
    throw segmentCorrupt(key, position, `the object store answered ${bytes.length} bytes of ${length}`);
  }

  #checkCancelled(): void {
    if (Atomics.load(this.#cancelled, 0) === 0) return;
    throw new MillraceError('ERR_MILLRACE_ABORTED', 'the job was given up: its outputs are removed');
  }
}

/** One request shows the size as well: a tail is read at the end that was committed. */
async function checkInput({ key, bytes, checksum }: RewriteInput, read: ReadBytes): Promise<void> {
  checkSegmentSize(bytes, key);
  const tail = parseTail(await read(bytes - TAIL_BYTES, TAIL_BYTES), bytes, key);
  const found = tail.checksum.toString(16).padStart(16, '0');
  if (found === checksum) return;
  throw segmentCorrupt(key, bytes - TAIL_BYTES, `expected the footer checksum ${checksum}, found ${found}`);
}

function checkSeen(
  { objectKey, byteOffset, chunks, records }: LayoutParent,
  seen: { readonly chunks: number; readonly records: number },
): void {
  if (seen.chunks === chunks && seen.records === records) return;
  const expected = `${chunks} chunks with ${records} records`;
  const found = `${seen.chunks} with ${seen.records}`;
  throw segmentCorrupt(objectKey, byteOffset, `expected a run of ${expected}, found ${found}`);
}
