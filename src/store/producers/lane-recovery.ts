/**
 * Recovers the lanes of producers as a store is opened: what they hold goes into segments at once, for their threads
 * are gone. A stream's unflushed frames lie in one lane, so the order of lanes does not matter.
 */
import type { FileSystem } from '../../base/file-system.ts';
import type { RingGeometry } from '../../ring/geometry.ts';
import type { RecoveryReport } from '../../wal/recovery.ts';
import { readCleanMark } from '../../wal/clean-mark.ts';
import { createSlotFiles, existingGeometry, parseSlotFileName } from '../../wal/slot-files.ts';
import { flushRecovered, LANE, type OpenedBase, recoverLog } from '../open-log.ts';
import { chooseGeometry } from '../geometry.ts';
import { flushedOf } from './lane-files.ts';
import type { IdleLane } from './producers.ts';

export interface RecoveredLanes {
  readonly idle: readonly IdleLane[];
  readonly reports: readonly RecoveryReport[];
}

export const NO_LANES: RecoveredLanes = { idle: [], reports: [] };

export async function recoverLanes(base: OpenedBase): Promise<RecoveredLanes> {
  const { paths, settings } = base;
  const { fileSystem } = base.environment;
  const idle: IdleLane[] = [];
  const reports: RecoveryReport[] = [];
  for (const [lane, slots] of lanesOf(fileSystem, paths.wal)) {
    const geometry = existingGeometry(fileSystem, paths.wal, lane) ?? chooseGeometry(settings, undefined);
    if (slots.length < geometry.slots) await finishBirth(base, lane, geometry);
    const log = await recoverLog(base, lane, geometry);
    if (log.recovered.fillings.length > 0) await flushRecovered(base, lane, log);
    idle.push({ lane, geometry, start: log.recovered.start });
    reports.push(log.report);
  }
  return { idle, reports };
}

/** The report of the store's own lane, with what was found in others. */
export function withLanes(own: RecoveryReport, lanes: readonly RecoveryReport[]): RecoveryReport {
  const sum = (of: (report: RecoveryReport) => number): number =>
    [own, ...lanes].reduce((all, one) => all + of(one), 0);
  return {
    ...own,
    blocks: sum(({ blocks }) => blocks),
    frames: sum(({ frames }) => frames),
    records: sum(({ records }) => records),
    damages: [own, ...lanes].flatMap(({ damages }) => damages),
    lost: [own, ...lanes].flatMap(({ lost }) => lost),
  };
}

/** Lanes of producers that have a file, and the slots they have one of. */
export function lanesOf(fileSystem: FileSystem, directory: string): Map<number, number[]> {
  const lanes = new Map<number, number[]>();
  for (const name of fileSystem.listSync(directory).sort()) {
    const parsed = parseSlotFileName(name);
    if (parsed === undefined || parsed.lane === LANE) continue;
    lanes.set(parsed.lane, [...(lanes.get(parsed.lane) ?? []), parsed.slotIndex]);
  }
  return lanes;
}

/**
 * A crash may have come between the files of a new lane: its mark says that they hold nothing, and the rest can be
 * made. In any other case, a file that is missing is damage: a log that was closed cleanly has a mark too, but one that
 * goes on behind records which are in no segment yet.
 */
async function finishBirth(base: OpenedBase, lane: number, geometry: RingGeometry): Promise<void> {
  const { environment, paths, storeId, coordinator } = base;
  const place = { fileSystem: environment.fileSystem, directory: paths.wal, storeId, lane };
  const flushed = await flushedOf(coordinator, lane);
  const mark = readCleanMark(place, flushed);
  if (mark === undefined || mark.start.slotSequence > flushed.slotSequence + 1) return;
  await createSlotFiles(place, geometry);
}
