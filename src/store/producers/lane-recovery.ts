/**
 * Recovers the lanes of producers as a store is opened: what they hold goes into segments at once, for their threads
 * are gone. A stream's unflushed frames lie in one lane, so the order of lanes does not matter.
 */
import { join } from 'node:path';
import { PAGE_BYTES } from '../../base/bytes.ts';
import type { FileSystem } from '../../base/file-system.ts';
import type { RingGeometry } from '../../ring/geometry.ts';
import type { RecoveryReport } from '../../wal/recovery.ts';
import { createSlotFiles, existingGeometry, parseSlotFileName, slotFileName } from '../../wal/slot-files.ts';
import { flushRecovered, LANE, type OpenedBase, recoverLog } from '../open-log.ts';
import { chooseGeometry } from '../geometry.ts';
import type { IdleLane } from './producers.ts';

export interface RecoveredLanes {
  readonly idle: readonly IdleLane[];
  readonly reports: readonly RecoveryReport[];
}

export const NO_LANES: RecoveredLanes = { idle: [], reports: [] };
const READ_BYTES = 256 * PAGE_BYTES;

export async function recoverLanes(base: OpenedBase): Promise<RecoveredLanes> {
  const { paths, settings, coordinator } = base;
  const { fileSystem } = base.environment;
  const idle: IdleLane[] = [];
  const reports: RecoveryReport[] = [];
  const flushedLanes = new Set((await coordinator.flushedSlots()).map(({ lane }) => lane));
  for (const [lane, slots] of lanesOf(fileSystem, paths.wal)) {
    const geometry = existingGeometry(fileSystem, paths.wal, lane) ?? chooseGeometry(settings, undefined);
    if (!flushedLanes.has(lane)) await finishBirth(base, lane, slots, geometry);
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
 * A crash may have come between the files of a new lane. They are blank then, the lane was never flushed, and the rest
 * can be made; in any other case, a file that is missing is damage.
 */
async function finishBirth(
  { environment: { fileSystem }, paths, storeId }: OpenedBase,
  lane: number,
  slots: readonly number[],
  geometry: RingGeometry,
): Promise<void> {
  if (slots.length >= geometry.slots) return;
  const blank = slots.every((slot) => isBlank(fileSystem, join(paths.wal, slotFileName(lane, slot))));
  if (blank) await createSlotFiles(fileSystem, paths.wal, storeId, lane, geometry);
}

/** Nothing was ever written behind the header. */
function isBlank(fileSystem: FileSystem, path: string): boolean {
  const file = fileSystem.openSync(path, { access: 'read' });
  try {
    const bytes = new Uint8Array(READ_BYTES);
    for (let position = PAGE_BYTES; ;) {
      const count = file.readSync(bytes, 0, READ_BYTES, position);
      if (count === 0) return true;
      if (bytes.subarray(0, count).some((byte) => byte !== 0)) return false;
      position += count;
    }
  } finally {
    file.closeSync();
  }
}
