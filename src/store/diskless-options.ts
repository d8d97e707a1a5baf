/** Options of stores without a WAL. */
import { checkOptionNames } from '../errors/option-names.ts';
import {
  DISKLESS_INTERVAL_DEFAULT,
  DISKLESS_SLOT_BYTES_DEFAULT,
  DISKLESS_SLOTS_DEFAULT,
  QUEUED_BYTES_DEFAULT,
  SLOT_BYTES_MAX,
  SLOT_BYTES_MIN,
  SLOTS_MAX,
  SLOTS_MIN,
} from '../limits/limits.ts';
import { geometryProblem } from '../ring/geometry.ts';
import { invalid, whole } from '../errors/argument-checks.ts';

/** How appends of a store without a WAL become objects. */
export interface DisklessOptions {
  /** An object is uploaded when it holds this many bytes, a multiple of 64 KiB. Default 8 MiB. */
  readonly slotBytes?: number;
  /**
   * Milliseconds until it is uploaded although it does not. Each process makes an object this often while it appends,
   * and an append waits for it and for the upload. Default 250.
   */
  readonly interval?: number;
  /** Objects that may be gathered, uploaded and committed at the same time. Default 8. */
  readonly slots?: number;
  /** Bytes of appends that may wait, by reference, while all slots are in use. Default 64 MiB. */
  readonly maxQueuedBytes?: number;
}

export type DisklessSettings = Required<DisklessOptions>;

const NAMES = new Set(['slotBytes', 'interval', 'slots', 'maxQueuedBytes']);

export function disklessSettings(given: DisklessOptions = {}): DisklessSettings {
  if (typeof given !== 'object') throw invalid('option diskless is an object of options');
  checkOptionNames(given, NAMES, 'open', 'diskless.');
  const most = Number.MAX_SAFE_INTEGER;
  const settings = {
    slotBytes: whole(
      'diskless.slotBytes',
      given.slotBytes,
      DISKLESS_SLOT_BYTES_DEFAULT,
      SLOT_BYTES_MIN,
      SLOT_BYTES_MAX,
    ),
    interval: whole('diskless.interval', given.interval, DISKLESS_INTERVAL_DEFAULT, 1, 2 ** 31 - 1),
    slots: whole('diskless.slots', given.slots, DISKLESS_SLOTS_DEFAULT, SLOTS_MIN, SLOTS_MAX),
    maxQueuedBytes: whole('diskless.maxQueuedBytes', given.maxQueuedBytes, QUEUED_BYTES_DEFAULT, 0, most),
  };
  const problem = geometryProblem(settings);
  if (problem === undefined) return settings;
  throw invalid(`options diskless.slots ${settings.slots} and diskless.slotBytes ${settings.slotBytes}: ${problem}`);
}
