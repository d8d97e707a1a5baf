/** What opening a store reads first: the identity, the clean mark, and the slot files with checksums that hold. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { viewOf } from '../../src/base/bytes.ts';
import { xxh64 } from '../../src/codec/checksum.ts';
import { BLOCK_HEADER_BYTES, BLOCK_MAGIC, blockSeed, readBlockHeader, sealBlock } from '../../src/ring/block-format.ts';
import { allocateRing, FIRST_BLOCK_POSITION } from '../../src/ring/geometry.ts';
import { groupFrames } from '../../src/flush/slot-frames.ts';
import { settleFrames } from '../../src/flush/stream-frames.ts';
import { hasLog, readIdentity } from '../../src/store/identity.ts';
import { recoveredStreams } from '../../src/store/recovered-streams.ts';
import { parseCleanMark, CLEAN_BYTES } from '../../src/wal/clean-mark.ts';
import { recoverLane } from '../../src/wal/recovery.ts';
import { existingGeometry, slotFileName } from '../../src/wal/slot-files.ts';
import { SLOT_CHECKED_BYTES } from '../../src/wal/slot-format.ts';
import { goldenFile, goldenFiles, ROOT } from '../bits/golden-files.ts';
import { ReadOnlyFiles } from '../bits/read-only-files.ts';
import { type Field, fieldsAt } from './edits.ts';
import { frameFields } from './record-targets.ts';
import { assertRefusal, decoded, type Target } from './target.ts';

const WAL = `${ROOT}/wal`;
const PAGE = 4_096;
const SLOT_FIELD = { magic: 0, version: 4, lane: 6, slotIndex: 8, slots: 12, slotBytes: 16, storeId: 24 };
const WAL_BLOCK_FIELD = {
  magic: 8,
  version: 12,
  lane: 14,
  storeId: 16,
  slotSequence: 32,
  blockSequence: 40,
  position: 48,
  payloadBytes: 52,
  writeStart: 56,
  reserved: 60,
};

const identity: Target = {
  name: 'identity',
  samples: [goldenFile('clean', 'STORE'), goldenFile('diskless', 'STORE')],
  fieldsOf: () => fieldsAt(0, { magic: 0, version: 4, log: 6, storeId: 8 }, 24),
  repair: (bytes) => {
    if (bytes.length >= 32) viewOf(bytes).setBigUint64(24, xxh64(bytes.subarray(0, 24)), true);
  },
  run: (bytes) => {
    const files = new ReadOnlyFiles();
    files.set(join(ROOT, 'STORE'), bytes);
    const storeId = decoded(() => readIdentity(files, ROOT));
    if (storeId === undefined) return;
    assert.equal(storeId.length, 16);
    hasLog(files, ROOT);
  },
};

const cleanMark: Target = {
  name: 'clean mark',
  samples: [goldenFile('clean', 'wal/lane-000.clean')],
  fieldsOf: () => fieldsAt(0, { magic: 0, version: 4, lane: 6, storeId: 8, a: 24, b: 32, c: 40, d: 48 }, 56),
  repair: (bytes) => {
    if (bytes.length >= CLEAN_BYTES) viewOf(bytes).setBigUint64(56, xxh64(bytes.subarray(0, 56)), true);
  },
  run: (bytes) => {
    if (bytes.length === CLEAN_BYTES) parseCleanMark(viewOf(bytes));
  },
};

/** Headers of blocks, and of the frames in them, that belong to the log or once did. */
function slotFields(bytes: Uint8Array): Field[] {
  const fields = fieldsAt(0, SLOT_FIELD, SLOT_CHECKED_BYTES);
  const view = viewOf(bytes);
  for (let at = FIRST_BLOCK_POSITION; at + BLOCK_HEADER_BYTES <= bytes.length; at += PAGE) {
    if (view.getUint32(at + WAL_BLOCK_FIELD.magic, true) !== BLOCK_MAGIC) continue;
    fields.push(...fieldsAt(at, WAL_BLOCK_FIELD, BLOCK_HEADER_BYTES));
    const end = Math.min(
      bytes.length,
      at + BLOCK_HEADER_BYTES + view.getUint32(at + WAL_BLOCK_FIELD.payloadBytes, true),
    );
    const frames = frameFields(bytes, at + BLOCK_HEADER_BYTES, end);
    fields.push(...frames, ...frames);
  }
  return fields;
}

function repairSlot(bytes: Uint8Array): void {
  const view = viewOf(bytes);
  if (bytes.length >= PAGE) {
    view.setBigUint64(SLOT_CHECKED_BYTES, xxh64(bytes.subarray(0, SLOT_CHECKED_BYTES)), true);
  }
  for (let at = FIRST_BLOCK_POSITION; at + BLOCK_HEADER_BYTES <= bytes.length; at += PAGE) {
    if (view.getUint32(at + WAL_BLOCK_FIELD.magic, true) !== BLOCK_MAGIC) continue;
    const { slotSequence, payloadBytes, writeStart } = readBlockHeader(view, at);
    const fits = Number.isSafeInteger(slotSequence) && at + BLOCK_HEADER_BYTES + payloadBytes <= bytes.length;
    if (!fits) continue;
    const seed = blockSeed(slotSequence, at);
    sealBlock(view, at, writeStart, (from, to) => xxh64(bytes.subarray(from, to), seed));
  }
}

/** Recovery of a whole lane in which one slot file is hostile, and what the flush makes of the result. */
function slots(): Target {
  const files = goldenFiles('killed');
  const storeId = readIdentity(files, ROOT);
  const geometry = existingGeometry(files, WAL, 0);
  assert.ok(storeId !== undefined && geometry !== undefined);
  const ring = allocateRing(geometry);
  const memory = new Uint8Array(ring);
  const names = [0, 2].map((slot) => slotFileName(0, slot));
  const originals = names.map((name) => goldenFile('killed', join('wal', name)));
  const recover = async (salvage: boolean): Promise<void> => {
    const flushed = { slotSequence: 4, blockSequence: 46 };
    const stored = (streamId: number): { nextOffset: number; epoch: number } | undefined =>
      streamId > 3 ? undefined : { nextOffset: [0, 42, 48, 1][streamId] ?? 0, epoch: streamId === 1 ? 1 : 0 };
    const input = { fileSystem: files, directory: WAL, storeId, lane: 0, geometry, ring, flushed, stored, salvage };
    const { fillings, frames } = await recoverLane(input);
    recoveredStreams(ring, frames);
    const view = new DataView(ring);
    for (const slot of fillings) {
      for (const { positions } of groupFrames(view, geometry, slot)) settleFrames(view, positions);
    }
  };
  return {
    name: 'slot files',
    samples: originals,
    fieldsOf: slotFields,
    repair: repairSlot,
    run: async (bytes) => {
      // The one of which more is left: an edit changes a little.
      const index = bytes[8] === 2 ? 1 : 0;
      const path = join(WAL, names[index] ?? '');
      files.set(path, bytes);
      try {
        for (const salvage of [false, true]) {
          memory.fill(0, 0, bytes.length === geometry.slotBytes ? 0 : memory.length);
          await recover(salvage).catch((error: unknown) => {
            if ((error as { code?: string }).code !== 'ERR_MILLRACE_WAL_GAP') assertRefusal(error);
          });
        }
      } finally {
        files.set(path, originals[index]);
      }
    },
  };
}

export function logTargets(): Target[] {
  return [identity, cleanMark, slots()];
}
