/**
 * Looks into a store's write-ahead log from outside: takes no lock, writes nothing, and works while the owner of the
 * log goes on writing. The judgement is recovery's own, over the same tables.
 */
import { join, resolve } from 'node:path';
import { systemClock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import { NodeFileSystem } from '../base/node-file-system.ts';
import { systemRandom } from '../base/random.ts';
import { loadChecksum } from '../codec/checksum.ts';
import { openEmbeddedCoordinator } from '../coordinator/embedded-coordinator.ts';
import type { RingGeometry } from '../ring/geometry.ts';
import { slotIndexOf } from '../ring/geometry.ts';
import type { LaneStart } from '../ring/producer.ts';
import { hasLog, readIdentity } from '../store/identity.ts';
import { lanesOf } from '../store/producers/lane-recovery.ts';
import { type StorePaths, storePaths } from '../store/paths.ts';
import type { VerifyProblem } from '../store/verify.ts';
import { type Damage, fillingsOf, type LogWalk, walkLog } from '../wal/log-walk.ts';
import { existingGeometry, slotFileName } from '../wal/slot-files.ts';
import { mayHoldUnflushed, readSlot, type SlotContents } from './log-slot.ts';

/** In place of a slot that was not worth reading: how many slots there are matters to the walk. */
const NOTHING_READ: SlotContents = { blocks: [], records: new Map(), problem: undefined };
/** The store's own lane: the others are those of producers. */
const LANE = 0;
const NOTHING_FLUSHED: LaneStart = { slotSequence: -1, blockSequence: -1 };
/** A log that is written to while it is read can look damaged; damage that stays where it is, is. */
const LOOKS_MAX = 4;

/** What a look into the log found. */
export interface LogInspection {
  /** Durable records that are in no segment, by the name of their stream. */
  readonly unflushed: ReadonlyMap<string, number>;
  /** Blocks of the log that are in no segment. */
  readonly blocks: number;
  readonly problems: readonly VerifyProblem[];
}

export const NO_LOG: LogInspection = { unflushed: new Map(), blocks: 0, problems: [] };

/** Durable records of all streams that are in no segment. */
export function unflushedTotal({ unflushed }: LogInspection): number {
  return [...unflushed.values()].reduce((sum, records) => sum + records, 0);
}

/**
 * `unflushed` reads only slots that hold records without a segment; `everything` also judges the files of the others.
 */
export async function inspectLog(dir: string, depth: 'unflushed' | 'everything'): Promise<LogInspection> {
  await loadChecksum();
  const fileSystem = new NodeFileSystem();
  const paths = storePaths(resolve(dir));
  const storeId = readIdentity(fileSystem, paths.root);
  if (storeId === undefined || !hasLog(fileSystem, paths.root)) return NO_LOG;
  const isThere = fileSystem.statSync(paths.wal)?.kind === 'directory';
  const lanes = [LANE, ...(isThere ? lanesOf(fileSystem, paths.wal).keys() : [])];
  const found: LogInspection[] = [];
  for (const lane of lanes) found.push(await inspectLane({ fileSystem, paths, storeId, depth, lane }));
  return {
    unflushed: sumsByName(found.flatMap(({ unflushed }) => [...unflushed])),
    blocks: found.reduce((sum, { blocks }) => sum + blocks, 0),
    problems: found.flatMap(({ problems }) => problems),
  };
}

async function inspectLane(view: LogView): Promise<LogInspection> {
  let look = await lookOnce(view);
  for (let looks = 1; looks < LOOKS_MAX && look.damages.length > 0; looks += 1) {
    const again = await lookOnce(view);
    const before = new Set(look.damages.map(placeOf));
    const lasting = again.damages.filter((damage) => before.has(placeOf(damage)));
    look = { ...again, damages: lasting };
    if (lasting.length > 0) break;
  }
  const damaged = look.damages.map((damage) => describeDamage(damage, view.lane, look.geometry));
  return { unflushed: look.unflushed, blocks: look.blocks, problems: [...look.files, ...damaged] };
}

interface LogView {
  readonly fileSystem: FileSystem;
  readonly paths: StorePaths;
  readonly storeId: Uint8Array;
  readonly depth: 'unflushed' | 'everything';
  readonly lane: number;
}

interface Look {
  readonly geometry: RingGeometry | undefined;
  readonly unflushed: ReadonlyMap<string, number>;
  readonly blocks: number;
  readonly files: readonly VerifyProblem[];
  readonly damages: readonly Damage[];
}

async function lookOnce(view: LogView): Promise<Look> {
  const { fileSystem, paths, storeId, depth, lane } = view;
  const none: Look = { geometry: undefined, unflushed: new Map(), blocks: 0, files: [], damages: [] };
  // Before the slots: what is flushed while they are read must not look lost.
  const { flushed, names } = await settledState(view);
  const isThere = fileSystem.statSync(paths.wal)?.kind === 'directory';
  const geometry = isThere ? existingGeometry(fileSystem, paths.wal, lane) : undefined;
  if (geometry === undefined) {
    const problem = `no slot file of lane ${lane} can be read`;
    return depth === 'unflushed' ? none : { ...none, files: [{ where: paths.wal, problem }] };
  }
  const slots: SlotContents[] = [];
  for (let slotIndex = 0; slotIndex < geometry.slots; slotIndex += 1) {
    const path = join(paths.wal, slotFileName(lane, slotIndex));
    const place = { lane, slotIndex, geometry, storeId };
    const matters = depth === 'everything' || mayHoldUnflushed(fileSystem, path, flushed.slotSequence);
    slots.push(matters ? await readSlot(fileSystem, path, place) : NOTHING_READ);
  }
  const fillings = fillingsOf(
    slots.map(({ blocks }) => blocks),
    flushed.slotSequence,
  );
  const walk = walkLog(fillings, flushed.blockSequence + 1);
  const files = slots.flatMap(({ problem }) => (problem === undefined ? [] : [problem]));
  return {
    geometry,
    unflushed: recordsByName(walk, slots, names),
    blocks: walk.blocks.length,
    files,
    damages: walk.damages,
  };
}

/** What the manifest says of the log, and the names of the streams. */
async function settledState(view: LogView): Promise<{ flushed: LaneStart; names: ReadonlyMap<number, string> }> {
  const coordinator = await openEmbeddedCoordinator({
    fileSystem: view.fileSystem,
    directory: view.paths.manifest,
    storeId: view.storeId,
    clock: systemClock,
    random: systemRandom,
    readOnly: true,
  });
  try {
    const flushed = (await coordinator.flushedSlots()).find(({ lane }) => lane === view.lane) ?? NOTHING_FLUSHED;
    const streams = await coordinator.streams();
    return { flushed, names: new Map(streams.map(({ streamId, name }) => [streamId, name])) };
  } finally {
    await coordinator.close();
  }
}

/** Records of deleted streams have no name, and will have no segment. */
function recordsByName(
  walk: LogWalk,
  slots: readonly SlotContents[],
  names: ReadonlyMap<number, string>,
): Map<string, number> {
  const totals = new Map<string, number>();
  for (const block of walk.blocks) {
    const slot = slots.find(({ records }) => records.has(block));
    for (const [streamId, records] of slot?.records.get(block) ?? []) {
      const name = names.get(streamId);
      if (name !== undefined) totals.set(name, (totals.get(name) ?? 0) + records);
    }
  }
  return totals;
}

function sumsByName(entries: readonly (readonly [string, number])[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const [name, records] of entries) sums.set(name, (sums.get(name) ?? 0) + records);
  return sums;
}

function placeOf({ slotSequence, position, blockSequence }: Damage): string {
  return `${slotSequence}/${position}/${blockSequence}`;
}

function describeDamage(damage: Damage, lane: number, geometry: RingGeometry | undefined): VerifyProblem {
  const { slotSequence, position, blockSequence, label } = damage;
  const slotIndex = geometry === undefined ? slotSequence : slotIndexOf(geometry, slotSequence);
  return {
    where: `wal/${slotFileName(lane, slotIndex)}`,
    problem: `block ${blockSequence} at ${position} was acknowledged and is damaged (${label})`,
  };
}
