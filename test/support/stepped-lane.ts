/**
 * A lane without threads: the real producer, appender, WAL writer and recovery over slot files in memory, each moved by
 * hand. A crash is an exception out of the middle of a write, after which a new lane recovers from the same disk.
 */
import { join } from 'node:path';
import { PAGE_BYTES } from '../../src/base/bytes.ts';
import type { FileSystem } from '../../src/base/file-system.ts';
import { Memtable } from '../../src/memtable/memtable.ts';
import { Doorbell, allocateDoorbell } from '../../src/ring/doorbell.ts';
import { allocateRing, type RingGeometry, slotIndexOf } from '../../src/ring/geometry.ts';
import { type LaneStart, RingProducer, type SealedSlot } from '../../src/ring/producer.ts';
import { RecordBatch } from '../../src/record/record-batch.ts';
import type { RecordValue } from '../../src/record/record-input.ts';
import { valueRoom } from '../../src/record/record-input.ts';
import { FRAME_KIND } from '../../src/record/frame-format.ts';
import { FrameAppender, type WritableStreamState } from '../../src/stream/frame-appender.ts';
import { type RecoveredLane, type RecoveryInput, recoverLane, type StreamPosition } from '../../src/wal/recovery.ts';
import { createSlotFiles, parseSlotFileName, rebuildSlotFiles, slotFileName } from '../../src/wal/slot-files.ts';
import { WalWriter } from '../../src/wal/writer.ts';
import { newStream } from './stream-state.ts';

export const DIRECTORY: string = join('/', 'wal');
export const STORE_ID: Uint8Array = Uint8Array.from({ length: 16 }, (_, index) => index * 16 + 1);
export const SMALL_RING: RingGeometry = { slots: 3, slotBytes: 64 * 1024 };
export const NOTHING_FLUSHED: LaneStart = { slotSequence: -1, blockSequence: -1 };

export interface LaneSettings {
  readonly geometry: RingGeometry;
  readonly lane: number;
  readonly flushed: LaneStart;
  /** Next offset by stream id, of what is flushed; a stream that is absent starts at 0. */
  readonly nextOffsets: ReadonlyMap<number, number>;
  /** Epoch by stream id, of what is flushed; that of a stream that is absent is 0. */
  readonly epochs: ReadonlyMap<number, number>;
  readonly salvage: boolean;
}

const DEFAULTS: LaneSettings = {
  geometry: SMALL_RING,
  lane: 0,
  flushed: NOTHING_FLUSHED,
  nextOffsets: new Map(),
  epochs: new Map(),
  salvage: false,
};

export function slotPath(slotIndex: number, lane = 0): string {
  return join(DIRECTORY, slotFileName(lane, slotIndex));
}

/** Recovers into a new ring, and nothing else. */
export async function recover(
  fileSystem: FileSystem,
  settings: Partial<LaneSettings> = {},
): Promise<{ recovered: RecoveredLane; ring: SharedArrayBuffer }> {
  const { geometry, lane, flushed, nextOffsets, epochs, salvage } = { ...DEFAULTS, ...settings };
  const ring = allocateRing(geometry);
  const stored = (streamId: number): StreamPosition => ({
    nextOffset: nextOffsets.get(streamId) ?? 0,
    epoch: epochs.get(streamId) ?? 0,
  });
  const input: RecoveryInput = {
    fileSystem,
    directory: DIRECTORY,
    storeId: STORE_ID,
    lane,
    geometry,
    ring,
    flushed,
    stored,
    salvage,
  };
  return { recovered: await recoverLane(input), ring };
}

/** The records of recovered frames as text, by stream and in order, each as `offset:value`. */
export function recoveredText(ring: SharedArrayBuffer, recovered: RecoveredLane): Map<number, string[]> {
  const text = new Map<number, string[]>();
  for (const { header, at } of recovered.frames) {
    const bytes = new Uint8Array(ring).slice(at, at + header.frameBytes);
    const batch = RecordBatch.decode(bytes, { name: 'the ring', baseOffset: 0 }, 0, Infinity);
    const lines = text.get(header.streamId) ?? [];
    text.set(header.streamId, lines);
    for (const { offset, value } of batch) lines.push(`${offset}:${String(value)}`);
  }
  return text;
}

export class SteppedLane {
  readonly recovered: RecoveredLane;
  readonly ring: SharedArrayBuffer;
  readonly producer: RingProducer;
  readonly writer: WalWriter;
  readonly memtable: Memtable;
  readonly sealed: SealedSlot[] = [];
  readonly #closed: { readonly nextBlock: number; readonly logEnd: number }[] = [];
  readonly #appender: FrameAppender;
  readonly #streams = new Map<number, WritableStreamState>();

  /** Creates the slot files of a new lane, recovers, and opens the lane for writing. */
  static async open(fileSystem: FileSystem, settings: Partial<LaneSettings> = {}): Promise<SteppedLane> {
    const { geometry, lane } = { ...DEFAULTS, ...settings };
    const born = fileSystem.listSync(DIRECTORY).some((name) => parseSlotFileName(name)?.lane === lane);
    if (!born) await createSlotFiles({ fileSystem, directory: DIRECTORY, storeId: STORE_ID, lane }, geometry);
    const { recovered, ring } = await recover(fileSystem, settings);
    await rebuildSlotFiles(fileSystem, DIRECTORY, lane, geometry, ring, recovered.unusableFiles);
    return new SteppedLane(fileSystem, { ...DEFAULTS, ...settings }, recovered, ring);
  }

  private constructor(
    fileSystem: FileSystem,
    settings: LaneSettings,
    recovered: RecoveredLane,
    ring: SharedArrayBuffer,
  ) {
    const { geometry, lane } = settings;
    this.recovered = recovered;
    this.ring = ring;
    const identity = { lane, storeId: STORE_ID };
    const doorbell = new Doorbell(allocateDoorbell());
    this.producer = new RingProducer(ring, geometry, identity, recovered.start, recovered.released, doorbell, {
      closing: () => {
        this.#appender.finish();
      },
      closed: (nextBlock, logEnd) => this.#closed.push({ nextBlock, logEnd }),
      sealed: (slot) => this.sealed.push(slot),
    });
    this.producer.words.reset(recovered.start.blockSequence);
    this.memtable = new Memtable(ring, geometry);
    this.#appender = new FrameAppender(ring, this.producer, this.memtable);
    for (const [streamId, nextOffset] of settings.nextOffsets) this.stream(streamId).nextOffset = nextOffset;
    for (const [streamId, epoch] of settings.epochs) this.stream(streamId).epoch = epoch;
    for (const { header } of recovered.frames) {
      this.stream(header.streamId).nextOffset = header.firstOffset + header.offsetSpan;
    }
    const nextOffsets = new Float64Array(64);
    for (const { streamId, nextOffset } of this.#streams.values()) nextOffsets[streamId] = nextOffset;
    this.writer = new WalWriter({ fileSystem, directory: DIRECTORY });
    this.writer.addLane({ lane, ring, geometry, start: recovered.start, nextOffsets });
  }

  stream(streamId: number): WritableStreamState {
    let stream = this.#streams.get(streamId);
    if (stream === undefined) {
      stream = newStream(streamId);
      this.#streams.set(streamId, stream);
    }
    return stream;
  }

  /** Log position up to which everything is durable. */
  get durableEnd(): number {
    const durable = this.producer.words.durableBlocks(this.recovered.start.blockSequence);
    return this.#closed.findLast(({ nextBlock }) => nextBlock <= durable)?.logEnd ?? 0;
  }

  /** Writes one record into the open block; false when the ring is full. */
  append(streamId: number, value: RecordValue, timestamp = 1_700_000_000_000): boolean {
    return this.#appender.append(this.stream(streamId), null, value, valueRoom(value), timestamp);
  }

  /** One block that holds one record. */
  block(streamId: number, value: RecordValue): void {
    if (!this.append(streamId, value)) throw new Error('the ring is full');
    this.producer.closeBlock();
  }

  /** Blocks of one record each, written together. */
  batch(streamId: number, ...values: RecordValue[]): void {
    for (const value of values) this.block(streamId, value);
    this.drain();
  }

  /** The stream goes on at `nextOffset` under the next epoch: a block of its own. */
  truncate(streamId: number, nextOffset: number): void {
    const stream = this.stream(streamId);
    stream.epoch += 1;
    stream.nextOffset = nextOffset;
    const { epoch } = stream;
    if (!this.#appender.appendControl(stream, FRAME_KIND.truncation, nextOffset, epoch, new Uint8Array(0))) {
      throw new Error('the ring is full');
    }
    this.producer.closeBlock();
  }

  /** Lets the WAL writer write everything that is closed. */
  drain(): void {
    while (this.writer.step() > 0);
  }

  seal(): SealedSlot {
    const slot = this.producer.sealSlot();
    if (slot === undefined) throw new Error('the filling holds nothing');
    return slot;
  }
}

/** What a crash throws out of the write it tears. */
export class PowerLoss extends Error {
  override readonly name = 'PowerLoss';
}

/** Fills whole pages: a value whose record, alone in its block, makes it `pages` pages long. */
export function pagesOf(pages: number, letter: string): string {
  return letter.repeat((pages - 1) * PAGE_BYTES + 1000);
}

/** Path of the slot file that holds a filling. */
export function pathOfFilling(slotSequence: number, geometry: RingGeometry = SMALL_RING): string {
  return slotPath(slotIndexOf(geometry, slotSequence));
}
