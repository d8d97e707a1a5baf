/**
 * Slot files of a killed store under damage. Recovery must return every acknowledged frame, or refuse and name the
 * block; only damage of what was written last may pass for a torn write. A salvage must return every frame whose block
 * is intact.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { ManualClock } from '../../src/base/clock.ts';
import { openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import { FRAME_KIND } from '../../src/record/frame-format.ts';
import { BLOCK_HEADER_BYTES } from '../../src/ring/block-format.ts';
import { allocateRing, slotBase, slotIndexOf } from '../../src/ring/geometry.ts';
import type { LaneStart } from '../../src/ring/producer.ts';
import { readIdentity } from '../../src/store/identity.ts';
import { type RecoveredLane, type RecoveryInput, recoverLane, type StreamPosition } from '../../src/wal/recovery.ts';
import { findBlocks, type FoundBlock } from '../../src/wal/scan.ts';
import { existingGeometry, slotFileName } from '../../src/wal/slot-files.ts';
import { SLOT_CHECKED_BYTES } from '../../src/wal/slot-format.ts';
import { filesBelow, goldenPath } from '../golden/fixtures.ts';
import { differs } from './damages.ts';
import { goldenDisk, goldenFile, goldenFiles, ROOT } from './golden-files.ts';
import type { ReadOnlyFiles } from './read-only-files.ts';
import { assertPlaced, assertReported, type Subject } from './subject.ts';

const WAL = `${ROOT}/wal`;
const HEADER_BYTES = SLOT_CHECKED_BYTES + 8;
const NOTHING_FLUSHED: LaneStart = { slotSequence: -1, blockSequence: -1 };

/** Acknowledged frames of one block, each as text that holds all of it. */
interface GoldenBlock {
  readonly slotIndex: number;
  readonly position: number;
  readonly end: number;
  readonly frames: readonly string[];
}

class KilledLane {
  readonly #files: ReadOnlyFiles;
  readonly #input: Omit<RecoveryInput, 'salvage'>;
  readonly #bytes: Uint8Array;
  #blocks: readonly GoldenBlock[] = [];

  private constructor(files: ReadOnlyFiles, input: Omit<RecoveryInput, 'salvage'>) {
    this.#files = files;
    this.#input = input;
    this.#bytes = new Uint8Array(input.ring);
  }

  static async open(name: string): Promise<KilledLane> {
    const files = goldenFiles(name);
    const storeId = readIdentity(files, ROOT);
    const geometry = existingGeometry(files, WAL, 0);
    assert.ok(storeId !== undefined && geometry !== undefined);
    const directory = join(ROOT, 'manifest');
    const clock = new ManualClock(1);
    const coordinator = await openEmbeddedCoordinator({ fileSystem: goldenDisk(name), directory, storeId, clock });
    const stored = new Map<number, StreamPosition>();
    for (const { streamId } of await coordinator.streams()) {
      stored.set(streamId, await coordinator.streamTotals(streamId));
    }
    const [flushed = NOTHING_FLUSHED] = await coordinator.flushedSlots();
    await coordinator.close();
    const lane = new KilledLane(files, {
      fileSystem: files,
      directory: WAL,
      storeId,
      lane: 0,
      geometry,
      ring: allocateRing(geometry),
      flushed,
      stored: (streamId) => stored.get(streamId),
    });
    await lane.#remember();
    return lane;
  }

  get slots(): number {
    return this.#input.geometry.slots;
  }

  pathOf(slotIndex: number): string {
    return join(WAL, slotFileName(0, slotIndex));
  }

  bytesOf(slotIndex: number): Uint8Array {
    return this.#files.get(this.pathOf(slotIndex));
  }

  /** Recovers with `damaged` in the place of a slot file, `undefined` for no file. */
  async check(slotIndex: number, damaged: Uint8Array | undefined): Promise<void> {
    const path = this.pathOf(slotIndex);
    const whole = this.bytesOf(slotIndex);
    // Recovery fills a new ring, whose memory is zeros where a file ends early.
    if (damaged?.length !== whole.length) this.#bytes.fill(0);
    this.#files.set(path, damaged);
    // Bytes that are missing read as zeros, which is what some of them were.
    const bytes = new Uint8Array(whole.length);
    bytes.set((damaged ?? bytes).subarray(0, whole.length));
    const intact = this.#blocks.map(
      (block) => block.slotIndex !== slotIndex || !differs(whole, bytes, block.position, block.end),
    );
    const usable = damaged?.length === whole.length && !differs(whole, bytes, 0, HEADER_BYTES);
    try {
      await this.#checkOpening(path, usable, intact);
      await this.#checkSalvage(path, intact);
    } finally {
      this.#files.set(path, whole);
    }
  }

  async #checkOpening(path: string, usable: boolean, intact: readonly boolean[]): Promise<void> {
    const firstDamaged = intact.indexOf(false);
    // Behind the last intact block there is no proof that anything was written.
    const provable = firstDamaged >= 0 && firstDamaged < intact.lastIndexOf(true);
    let recovered: RecoveredLane;
    try {
      recovered = await this.#recover(false);
    } catch (error) {
      assertPlaced(error, path);
      assert.ok(!usable || firstDamaged >= 0, `nothing that matters is damaged: ${error.message}`);
      if (!usable) return;
      const damagedAt = this.#blocks.filter((_, index) => !intact[index]).map(({ position }) => position);
      assert.ok(damagedAt.includes(Number(error.details.position)), `${error.message}: not at ${damagedAt.join()}`);
      return;
    }
    assert.ok(usable, 'a file whose header or size is wrong was used');
    assert.ok(!provable, 'damage was taken for the end of the log');
    const kept = firstDamaged < 0 ? this.#blocks : this.#blocks.slice(0, firstDamaged);
    this.#assertFrames(recovered, kept);
    this.#assertStart(recovered);
  }

  async #checkSalvage(path: string, intact: readonly boolean[]): Promise<void> {
    let recovered: RecoveredLane;
    try {
      recovered = await this.#recover(true);
    } catch (error) {
      // With the right file, or the right program, nothing is lost: those two are refused whatever is asked for.
      assertReported(error, path);
      assert.ok(['ERR_MILLRACE_FOREIGN_FILE', 'ERR_MILLRACE_FORMAT_TOO_NEW'].includes(error.code), error.message);
      return;
    }
    this.#assertFrames(
      recovered,
      this.#blocks.filter((_, index) => intact[index]),
    );
    this.#assertStart(recovered);
  }

  #recover(salvage: boolean): Promise<RecoveredLane> {
    return recoverLane({ ...this.#input, salvage });
  }

  #assertFrames(recovered: RecoveredLane, expected: readonly GoldenBlock[]): void {
    const found = recovered.frames.flatMap(({ header, at }) => {
      // What a salvage writes lies where the damaged block was.
      const substitute = header.kind === FRAME_KIND.lost || header.kind === FRAME_KIND.truncation;
      if (substitute && !expected.some((block) => this.#holds(block, at))) return [];
      return [this.#textOf(at, header.frameBytes)];
    });
    assert.deepEqual(
      found,
      expected.flatMap(({ frames }) => frames),
    );
  }

  /** What is appended next must not lie among what is still to be flushed, and take no sequence a second time. */
  #assertStart({ start, fillings, frames }: RecoveredLane): void {
    const { geometry, flushed } = this.#input;
    const oldest = fillings[0]?.slotSequence ?? start.slotSequence;
    assert.ok(start.slotSequence > (fillings.at(-1)?.slotSequence ?? flushed.slotSequence));
    assert.ok(start.slotSequence < oldest + 2 * geometry.slots, 'the lane goes on within reach');
    assert.ok(start.blockSequence > flushed.blockSequence && start.blockSequence >= fillings.length);
    for (const { slotSequence } of frames) assert.ok(slotSequence < start.slotSequence);
  }

  #holds({ slotIndex, position, end }: GoldenBlock, at: number): boolean {
    const base = slotBase(this.#input.geometry, slotIndex);
    return at >= base + position && at < base + end;
  }

  #textOf(at: number, length: number): string {
    return Buffer.from(this.#bytes.subarray(at, at + length)).toString('latin1');
  }

  /** What recovery returns of the intact files, by block. */
  async #remember(): Promise<void> {
    const { frames, fillings } = await this.#recover(false);
    const { geometry } = this.#input;
    const blocks: (FoundBlock & { slotIndex: number })[] = [];
    for (const { slotSequence, endPosition } of fillings) {
      const slotIndex = slotIndexOf(geometry, slotSequence);
      for (const block of findBlocks(this.bytesOf(slotIndex), this.#input)) {
        if (block.slotSequence === slotSequence && block.position < endPosition) blocks.push({ ...block, slotIndex });
      }
    }
    this.#blocks = blocks.map(({ slotIndex, slotSequence, position, payloadBytes }) => {
      const end = position + BLOCK_HEADER_BYTES + payloadBytes;
      const base = slotBase(geometry, slotSequence);
      const inside = frames.filter(({ at }) => at >= base + position && at < base + end);
      return { slotIndex, position, end, frames: inside.map(({ at, header }) => this.#textOf(at, header.frameBytes)) };
    });
    assert.equal(
      this.#blocks.reduce((sum, block) => sum + block.frames.length, 0),
      frames.length,
    );
    assert.ok(this.#blocks.length > 10 && fillings.length === 2, 'two fillings are in flight');
  }
}

export async function slotSubjects(): Promise<Subject[]> {
  const lane = await KilledLane.open('killed');
  const foreign = filesBelow(goldenPath('clean'))
    .filter((file) => file.endsWith('.wal'))
    .map((file) => goldenFile('clean', file));
  const all = Array.from({ length: lane.slots }, (_, slotIndex) => lane.bytesOf(slotIndex));
  return all.map((bytes, slotIndex) => ({
    name: `killed/${slotFileName(0, slotIndex)}`,
    bytes,
    donors: [...all.filter((_, other) => other !== slotIndex), ...foreign],
    check: (damaged) => lane.check(slotIndex, damaged),
  }));
}
