/**
 * The WAL writer: batch, account, write and sync, notify. It serves a list of lanes and knows blocks and frames'
 * offsets, but no memtable, no stream object and no segment. Runs in the WAL worker, or step by step in a simulation.
 */
import { join } from 'node:path';
import { assert } from '../base/assert.ts';
import type { FileSystem } from '../base/file-system.ts';
import { checksumOfRanges, type RangeChecksum } from '../codec/checksum.ts';
import { shortWrite, writeFailure } from '../errors/write-failure.ts';
import { WRITE_BYTES_MAX } from '../limits/limits.ts';
import { BLOCK_HEADER_BYTES, blockBytes, blockSeed, payloadBytesAt, sealBlock } from '../ring/block-format.ts';
import { FIRST_BLOCK_POSITION, type RingGeometry, slotBase, slotIndexOf } from '../ring/geometry.ts';
import { LaneWords, NOT_ENDED } from '../ring/lane-words.ts';
import type { LaneStart } from '../ring/producer.ts';
import { StreamAccount } from './account.ts';
import { openForWriting, slotFileName, type SlotWriteHandle } from './slot-files.ts';

/** What the writer needs to serve a lane: plain data that survives `postMessage`. */
export interface LaneAssignment {
  readonly lane: number;
  readonly ring: SharedArrayBuffer;
  /** The WebAssembly memory behind `ring`, if known: checksums are then computed in place. */
  readonly memory?: object | undefined;
  readonly geometry: RingGeometry;
  readonly start: LaneStart;
  /** Next offset by stream id, after recovery; of all lanes, with the first one that is added. */
  readonly nextOffsets: Float64Array;
}

/** Where and how the lanes' files are written. */
export interface WalTarget {
  readonly fileSystem: FileSystem;
  /** Directory of the slot files, which exist. */
  readonly directory: string;
}

/** One lane: a cursor over its blocks, and its files. */
class LaneWriter {
  readonly #assignment: LaneAssignment;
  readonly #target: WalTarget;
  readonly #words: LaneWords;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #checksum: RangeChecksum;
  readonly #account: StreamAccount;
  readonly #files: SlotWriteHandle[] = [];
  #slotSequence: number;
  /** Next block's position in its slot. */
  #position: number = FIRST_BLOCK_POSITION;
  #nextBlock: number;

  constructor(assignment: LaneAssignment, target: WalTarget, account: StreamAccount) {
    this.#assignment = assignment;
    this.#target = target;
    this.#words = new LaneWords(assignment.ring);
    this.#bytes = new Uint8Array(assignment.ring);
    this.#view = new DataView(assignment.ring);
    this.#checksum = checksumOfRanges(this.#bytes, assignment.memory);
    this.#account = account;
    this.#slotSequence = assignment.start.slotSequence;
    this.#nextBlock = assignment.start.blockSequence;
  }

  /** Opens every slot file; throws a coded error. */
  open(): void {
    const { geometry, lane } = this.#assignment;
    for (let index = 0; index < geometry.slots; index += 1) {
      const path = join(this.#target.directory, slotFileName(lane, index));
      const base = slotBase(geometry, index);
      try {
        this.#files.push(
          openForWriting(this.#target.fileSystem, path, this.#bytes.subarray(base, base + FIRST_BLOCK_POSITION)),
        );
      } catch (error) {
        throw writeFailure(path, error);
      }
    }
  }

  /** How writes become durable here. */
  get mode(): SlotWriteHandle['mode'] {
    return this.#files[0]?.mode ?? 'buffered';
  }

  /**
   * Writes all closed, contiguous blocks of the current slot, up to `WRITE_BYTES_MAX`, in one call, makes them durable,
   * and publishes that. Returns the bytes written; 0 when nothing was closed. After it throws, the lane is dead:
   * nothing is retried and the file is never written again, because after a failed sync nobody knows what the disk
   * holds.
   */
  step(): number {
    const closed = this.#words.closedBlocks(this.#nextBlock);
    if (closed === this.#nextBlock) return 0;
    this.#followSlot();
    const { geometry } = this.#assignment;
    const base = slotBase(geometry, this.#slotSequence);
    const ended = this.#slotEnd();
    const end = ended === NOT_ENDED ? geometry.slotBytes : ended;
    const writeStart = this.#position;
    let position = writeStart;
    let block = this.#nextBlock;
    while (block < closed && position < end) {
      const payloadBytes = payloadBytesAt(this.#view, base + position);
      const bytes = blockBytes(payloadBytes);
      assert(position + bytes <= end, 'a block ends inside its slot');
      if (position > writeStart && position + bytes - writeStart > WRITE_BYTES_MAX) break;
      this.#prepare(base + position, payloadBytes, writeStart, position);
      position += bytes;
      block += 1;
    }
    assert(block > this.#nextBlock, 'a closed block is in the current slot');
    this.#write(base, writeStart, position - writeStart);
    this.#position = position;
    this.#nextBlock = block;
    this.#words.publishDurable(block);
    return position - writeStart;
  }

  /** Tells the producer that nothing more will become durable. */
  fail(): void {
    this.#words.publishFailed();
  }

  close(): void {
    for (const { file } of this.#files.splice(0)) file.closeSync();
  }

  /** Moves to the next filling once the current one has ended and all of it is written. */
  #followSlot(): void {
    const end = this.#slotEnd();
    if (end === NOT_ENDED || this.#position < end) return;
    this.#slotSequence += 1;
    this.#position = FIRST_BLOCK_POSITION;
  }

  #slotEnd(): number {
    return this.#words.slotEnd(slotIndexOf(this.#assignment.geometry, this.#slotSequence), this.#slotSequence);
  }

  #prepare(at: number, payloadBytes: number, writeStart: number, position: number): void {
    const payload = at + BLOCK_HEADER_BYTES;
    this.#account.accept(this.#view, payload, payload + payloadBytes);
    const seed = blockSeed(this.#slotSequence, position);
    sealBlock(this.#view, at, writeStart, (from, to) => this.#checksum(from, to, seed));
  }

  #write(base: number, position: number, length: number): void {
    const handle = this.#files[slotIndexOf(this.#assignment.geometry, this.#slotSequence)];
    assert(handle !== undefined, 'slot files are open');
    const { file, mode } = handle;
    try {
      const written = file.writeSync(this.#bytes, base + position, length, position);
      if (written !== length) throw shortWrite(file.path, written, length, position);
      if (mode === 'buffered') file.syncSync();
    } catch (error) {
      throw writeFailure(file.path, error);
    }
  }
}

/** Serves all lanes in turn. */
export class WalWriter {
  readonly #target: WalTarget;
  readonly #lanes: LaneWriter[] = [];
  /** One for all lanes: a stream may move from lane to lane, and goes on where it ended. */
  #account: StreamAccount | undefined;
  /** What a step threw: every later step throws the same, and no file is touched again. */
  #failure: { readonly error: unknown } | undefined;

  constructor(target: WalTarget) {
    this.#target = target;
  }

  addLane(assignment: LaneAssignment): LaneWriter {
    this.#account ??= new StreamAccount(assignment.nextOffsets);
    const lane = new LaneWriter(assignment, this.#target, this.#account);
    this.#lanes.push(lane);
    lane.open();
    return lane;
  }

  /** One step of every lane. Returns the bytes written; 0 when all are idle. */
  step(): number {
    if (this.#failure !== undefined) throw this.#failure.error;
    let bytes = 0;
    try {
      for (const lane of this.#lanes) bytes += lane.step();
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
    return bytes;
  }

  /** Marks every lane as failed: one lost write stops the engine as a whole. */
  fail(): void {
    for (const lane of this.#lanes) lane.fail();
  }

  close(): void {
    for (const lane of this.#lanes.splice(0)) lane.close();
  }
}
