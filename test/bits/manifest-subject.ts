/**
 * Manifest files under damage. What opens has the state that was written; only the last block of a log whose writer was
 * killed may be missing, as if it had been torn.
 */
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ManualClock } from '../../src/base/clock.ts';
import { openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import { BLOCK_FIELD, BLOCK_HEADER_BYTES, blockBytes, CLOSE_MARK_NAME } from '../../src/coordinator/manifest/format.ts';
import type { DiskSnapshot } from '../../src/testing/disk/simulated-disk.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { viewOf } from '../../src/base/bytes.ts';
import { dump } from '../coordinator/fixture.ts';
import { filesBelow, goldenPath } from '../golden/fixtures.ts';
import { differs } from './damages.ts';
import { goldenDisk, goldenFile, ROOT } from './golden-files.ts';
import { assertReported, type Subject } from './subject.ts';

const DIRECTORY = join(ROOT, 'manifest');

interface GoldenManifest {
  readonly disk: DiskSnapshot;
  /** Without the mark of its last close. */
  readonly unmarked: DiskSnapshot;
  readonly storeId: Uint8Array;
}

/** Where the blocks of an intact manifest file lie. */
function blocksOf(bytes: Uint8Array): { position: number; end: number; padded: number }[] {
  const blocks = [];
  for (let position = 0; position < bytes.length;) {
    const payloadBytes = viewOf(bytes).getUint32(position + BLOCK_FIELD.payloadBytes, true);
    const padded = position + blockBytes(payloadBytes);
    blocks.push({ position, end: position + BLOCK_HEADER_BYTES + payloadBytes, padded });
    position = padded;
  }
  return blocks;
}

/** Opens the manifest with `damaged` in the place of `path`, and asks for everything. */
async function stateWith({ disk, storeId }: GoldenManifest, path: string, damaged: Uint8Array): Promise<unknown> {
  const fileSystem = new SimulatedDisk(disk.options, disk);
  fileSystem.put(path, damaged);
  const clock = new ManualClock(1);
  const coordinator = await openEmbeddedCoordinator({ fileSystem, directory: DIRECTORY, storeId, clock });
  try {
    return await dump(coordinator);
  } finally {
    await coordinator.close();
  }
}

async function manifestSubject(golden: GoldenManifest, name: string, bytes: Uint8Array): Promise<Subject> {
  const path = join(DIRECTORY, name);
  const blocks = blocksOf(bytes);
  const isLog = name.endsWith('.log');
  const isMark = name === CLOSE_MARK_NAME;
  const state = await stateWith(golden, path, bytes);
  // A store that was closed says how far its log reached: without that a log that was cut opens.
  const unmarked = { ...golden, disk: golden.unmarked };
  /** What is there when the log ends in front of a block. */
  const before: unknown[] = [];
  if (isLog) {
    for (const { position } of blocks.slice(1)) before.push(await stateWith(unmarked, path, bytes.slice(0, position)));
  }
  const check = async (damaged: Uint8Array): Promise<void> => {
    // Padding means nothing, but a block without it was not written whole.
    const intact = blocks.map(
      ({ position, end, padded }) => padded <= damaged.length && !differs(bytes, damaged, position, end),
    );
    const firstDamaged = intact.indexOf(false);
    let found: unknown;
    try {
      found = await stateWith(golden, path, damaged);
    } catch (error) {
      assertReported(error, DIRECTORY);
      assert.equal(typeof error.details.file, 'string', error.message);
      assert.ok(firstDamaged >= 0 || damaged.length !== bytes.length, `nothing is damaged: ${error.message}`);
      return;
    }
    const torn = isLog && firstDamaged > 0 && firstDamaged > intact.lastIndexOf(true);
    // A damaged mark tells nothing, and costs nothing else.
    const allowed = firstDamaged < 0 || isMark ? [state] : torn ? [before[firstDamaged - 1]] : [];
    assert.ok(
      allowed.some((each) => isDeepStrictEqual(each, found)),
      'damage was believed, or taken for the end',
    );
  };
  return { name, bytes, donors: [], check };
}

export async function manifestSubjects(): Promise<Subject[]> {
  const subjects: Subject[] = [];
  for (const store of ['killed', 'clean', 'compacted', 'manifest']) {
    const names = filesBelow(join(goldenPath(store), dirname('manifest/CURRENT')));
    const files = names.map((name) => ({ name, bytes: goldenFile(store, join('manifest', name)) }));
    const [first] = files;
    assert.ok(first !== undefined);
    const storeId = first.bytes.slice(BLOCK_FIELD.storeId, BLOCK_FIELD.storeId + 16);
    const disk = goldenDisk(store);
    const marked = disk.snapshot();
    if (names.includes(CLOSE_MARK_NAME)) disk.removeSync(join(DIRECTORY, CLOSE_MARK_NAME));
    const golden = { disk: marked, unmarked: disk.snapshot(), storeId };
    for (const { name, bytes } of files) {
      const subject = await manifestSubject(golden, name, bytes);
      const donors = files.filter((other) => other.name !== name).map((other) => other.bytes);
      subjects.push({ ...subject, name: `${store}/manifest/${name}`, donors });
    }
  }
  return subjects.map((subject) => ({
    ...subject,
    donors: [...subject.donors, ...subjects.filter((other) => sameKind(subject, other)).map(({ bytes }) => bytes)],
  }));
}

/** Files of the same name and of other stores. */
function sameKind(left: Subject, right: Subject): boolean {
  return left !== right && left.name.split('/').at(-1) === right.name.split('/').at(-1);
}
