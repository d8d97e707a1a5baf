/** Reads input runs chunk by chunk, verified, and holds what it reads against what the coordinator says of them. */
import { SpareMemory } from '../base/spare-memory.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import type { ObjectStore, StreamRead } from '../object/object-store.ts';
import type { SegmentSource } from '../segment/source.ts';
import { checkSegmentSize, parseTail } from '../segment/footer-parser.ts';
import { TAIL_BYTES } from '../segment/format.ts';
import { segmentCorrupt } from '../segment/errors.ts';
import type { StoredChunk } from '../segment/chunk-reader.ts';
import { type ChunkRange, streamChunks } from '../segment/chunk-stream.ts';
import { required } from '../base/assert.ts';
import { type BufferAccount, InputSource, type ReadBytes, WindowMemory } from './input-source.ts';
import { InputStream } from './input-stream.ts';
import type { ByteRange } from './input-windows.ts';
import { AHEAD_READ_BYTES, RUN_READ_BYTES, STREAM_READ_BYTES, type Wave } from './job-memory.ts';
import type { LayoutParent } from './layout.ts';
import type { Pace } from './pace.ts';
import type { RewriteInput, RewriteJob } from './rewrite-job.ts';

/** Two pieces of a stream. */
const STREAM_HELD_BYTES: number = 2 * STREAM_READ_BYTES;

interface ChunkSource {
  readonly source: SegmentSource;
  readonly readBytes: number;
  /** Its memory may be used again once its chunks were looked at. */
  readonly isOwn: boolean;
}

/** Reads of one run in memory: the one whose chunks are looked at, and the next. */
const RUN_READS = 2;

export class ParentReader {
  readonly #objects: ObjectStore;
  readonly #pace: Pace;
  readonly #account: BufferAccount;
  readonly #cancelled: Int32Array;
  readonly #runMemory: SpareMemory = new SpareMemory(RUN_READS);
  readonly #streamMemory: SpareMemory = new SpareMemory(Infinity);
  readonly #joined: SpareMemory = new SpareMemory(1);
  readonly #windows: Map<string, InputSource> = new Map();
  readonly #streams: Map<string, InputStream> = new Map();
  readonly #sizes: Map<string, number> = new Map();
  /** Inputs that were found to be what was committed. */
  readonly #checked: Set<string> = new Set();
  #reading: Wave<RewriteInput>['reading'] = 'runs';
  #memory: WindowMemory | undefined;

  constructor(objects: ObjectStore, job: RewriteJob, pace: Pace, account: BufferAccount) {
    this.#objects = objects;
    this.#pace = pace;
    this.#account = account;
    this.#cancelled = new Int32Array(job.cancel);
    for (const { key, bytes } of job.inputs) this.#sizes.set(key, bytes);
  }

  /** Checks that every input is there and is the object that was committed. The last wave is closed. */
  async open({ reading, inputs, windows, together }: Wave<RewriteInput>): Promise<void> {
    this.close();
    this.#reading = reading;
    const memory = windows === undefined ? undefined : new WindowMemory(windows);
    this.#memory = memory;
    const account = this.#account;
    const opened = await Promise.allSettled(
      inputs.map(async ({ input, live, plan }) => {
        const read: ReadBytes = (position, length, into) => this.#read(input.key, position, length, into);
        if (plan !== undefined && memory !== undefined) {
          const source = new InputSource({ size: input.bytes, read, plan, memory, account });
          this.#windows.set(input.key, source);
          return this.#check(input, plan.whole ? (position, length) => source.read(position, length) : read);
        }
        if (reading === 'streams') this.#streams.set(input.key, this.#streamOf(input, live));
        return this.#check(input, read);
      }),
    );
    for (const outcome of opened) if (outcome.status === 'rejected') throw outcome.reason;
    for (const source of this.#windows.values()) source.begin();
    if (!together) return;
    for (const { input, live } of inputs) this.#streams.get(input.key)?.begin(live[0]?.position ?? 0);
  }

  /**
   * Yields the run's chunks. A chunk is valid until the next one is asked for. `ahead`: the run is read once more in
   * its turn, in the order of streams and offsets.
   */
  async *chunks(parent: LayoutParent, streamId: number, ahead = false): AsyncGenerator<StoredChunk> {
    const { objectKey, byteOffset: position, byteLength: length, firstOffset, nextOffset } = parent;
    const { source, readBytes, isOwn } = this.#sourceOf(parent, ahead);
    // Spread together, ranges are ten times as large, and there is one for each run.
    const range: ChunkRange = {
      objectKey,
      position,
      length,
      streamId,
      firstOffset,
      nextOffset,
      base: firstOffset,
      readBytes,
      joined: this.#joined,
      // What others hold is not given away.
      memory: isOwn ? this.#runMemory : undefined,
    };
    const buffers = isOwn ? Math.min(length, RUN_READS * readBytes) : 0;
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
    this.#windows.get(objectKey)?.done(byteOffset + byteLength);
  }

  close(): void {
    for (const source of [...this.#windows.values(), ...this.#streams.values()]) source.close();
    this.#account.add(-STREAM_HELD_BYTES * this.#streams.size);
    this.#windows.clear();
    this.#streams.clear();
    this.#memory?.close();
    this.#memory = undefined;
  }

  #sourceOf({ objectKey, byteLength }: LayoutParent, ahead: boolean): ChunkSource {
    const windows = this.#windows.get(objectKey);
    if (windows?.isWindowed(byteLength) === true) return { source: windows, readBytes: RUN_READ_BYTES, isOwn: false };
    const stream = ahead ? undefined : this.#streams.get(objectKey);
    if (stream !== undefined) return { source: stream, readBytes: STREAM_READ_BYTES, isOwn: false };
    const size = required(this.#sizes.get(objectKey), 'parents are runs of the inputs');
    const read: ReadBytes = (position, length, into) => this.#read(objectKey, position, length, into);
    const readBytes = this.#reading === 'windows' ? RUN_READ_BYTES : AHEAD_READ_BYTES;
    return { source: { size, read }, readBytes, isOwn: true };
  }

  #streamOf({ key, bytes }: RewriteInput, live: readonly ByteRange[]): InputStream {
    const stream = required(this.#objects.stream, 'a plan with streams is for a store that has them');
    const last = required(live.at(-1), 'an input of a wave has runs');
    this.#account.add(STREAM_HELD_BYTES);
    const counted: StreamRead = (...range) => this.#counted(stream.apply(this.#objects, range));
    return new InputStream({
      key,
      size: bytes,
      end: last.position + last.length,
      stream: counted,
      spare: this.#streamMemory,
    });
  }

  async *#counted(pieces: ReturnType<StreamRead>): ReturnType<StreamRead> {
    this.#account.reads += 1;
    for await (const piece of pieces) {
      await this.#pace.take(piece.length);
      this.#checkCancelled();
      this.#account.readBytes += piece.length;
      yield piece;
    }
  }

  async #check(input: RewriteInput, read: ReadBytes): Promise<void> {
    if (this.#checked.has(input.key)) return;
    await checkInput(input, read);
    this.#checked.add(input.key);
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
