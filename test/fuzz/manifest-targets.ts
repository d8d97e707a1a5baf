/** The manifest, its chain of blocks made right again, so that rows and events with any content are believed. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { viewOf } from '../../src/base/bytes.ts';
import { ManualClock } from '../../src/base/clock.ts';
import { xxh64 } from '../../src/codec/checksum.ts';
import { openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import {
  BLOCK_CHECKED_FROM,
  BLOCK_FIELD,
  BLOCK_HEADER_BYTES,
  blockBytes,
  blockSeed,
} from '../../src/coordinator/manifest/format.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { goldenDisk, goldenFile, ROOT } from '../bits/golden-files.ts';
import { dump } from '../coordinator/fixture.ts';
import { type Field, fieldsAt } from './edits.ts';
import { decodedAsync, type Target } from './target.ts';

const DIRECTORY = join(ROOT, 'manifest');
const STORE = 'manifest';
const NAMES = ['CURRENT', '0000000000000002.snapshot', '0000000000000002.log'];

function* blocks(bytes: Uint8Array): Generator<{ at: number; end: number }> {
  const view = viewOf(bytes);
  for (let at = 0; at + BLOCK_HEADER_BYTES <= bytes.length;) {
    const payloadBytes = view.getUint32(at + BLOCK_FIELD.payloadBytes, true);
    const end = at + BLOCK_HEADER_BYTES + payloadBytes;
    if (end > bytes.length) return;
    yield { at, end };
    at += blockBytes(payloadBytes);
  }
}

function manifestFields(bytes: Uint8Array): Field[] {
  return [...blocks(bytes)].flatMap(({ at, end }) => {
    const header = fieldsAt(at, BLOCK_FIELD, BLOCK_HEADER_BYTES).filter((field) => field.at !== at);
    const payload = Array.from({ length: end - at - BLOCK_HEADER_BYTES }, (_, index) => ({
      at: at + BLOCK_HEADER_BYTES + index,
      bytes: 1,
    }));
    return [...header, ...payload];
  });
}

/** Every block follows the one before it, and its checksum holds. Returns the last one's. */
function chain(bytes: Uint8Array, previous: bigint): bigint {
  const view = viewOf(bytes);
  let before = previous;
  for (const { at, end } of blocks(bytes)) {
    view.setBigUint64(at + BLOCK_FIELD.previous, before, true);
    before = xxh64(bytes.subarray(at + BLOCK_CHECKED_FROM, end), blockSeed(at));
    view.setBigUint64(at + BLOCK_FIELD.checksum, before, true);
  }
  return before;
}

function manifestTarget(name: string): Target {
  const disk = goldenDisk(STORE).snapshot();
  const files = NAMES.map((each) => goldenFile(STORE, join('manifest', each)));
  const [current, snapshot, log] = files;
  assert.ok(current !== undefined && snapshot !== undefined && log !== undefined);
  const storeId = current.slice(BLOCK_FIELD.storeId, BLOCK_FIELD.storeId + 16);
  return {
    name,
    samples: [goldenFile(STORE, join('manifest', name))],
    fieldsOf: manifestFields,
    repair: (bytes) => {
      const link = viewOf(current).getBigUint64(BLOCK_FIELD.previous, true);
      chain(bytes, name.endsWith('.snapshot') ? 0n : link);
    },
    run: async (bytes) => {
      const fileSystem = new SimulatedDisk(disk.options, disk);
      fileSystem.put(join(DIRECTORY, name), bytes);
      if (name.endsWith('.snapshot')) {
        // What hangs on the snapshot follows it, as far as it was made to end well.
        const end = chain(bytes.slice(), 0n);
        for (const [other, content] of [['CURRENT', current] as const, [NAMES[2] ?? '', log] as const]) {
          const linked = content.slice();
          chain(linked, end);
          fileSystem.put(join(DIRECTORY, other), linked);
        }
      }
      await decodedAsync(async () => {
        const clock = new ManualClock(1);
        const coordinator = await openEmbeddedCoordinator({ fileSystem, directory: DIRECTORY, storeId, clock });
        await dump(coordinator);
        await coordinator.close();
      });
    },
  };
}

export function manifestTargets(): Target[] {
  return NAMES.map(manifestTarget);
}
