/** What `open` takes: plain data, checked once, with every default in one place. */
import type { CoordinatorComponent } from '../coordinator/component.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { checkOptionNames } from '../errors/option-names.ts';
import {
  CACHE_BYTES_DEFAULT,
  FLUSH_INTERVAL_DEFAULT,
  QUEUED_BYTES_DEFAULT,
  SLOT_BYTES_MAX,
  SLOT_BYTES_MIN,
  SLOTS_MAX,
  SLOTS_MIN,
} from '../limits/limits.ts';
import { type CompactionOptions, type CompactionSettings, compactionSettings } from '../compaction/settings.ts';
import { describeDirectory } from '../object/directory-component.ts';
import type { ObjectStoreComponent } from '../object/object-store.ts';
import { type DisklessOptions, type DisklessSettings, disklessSettings } from './diskless-options.ts';
import { checkComponent, flag, invalid, optional, whole } from '../errors/argument-checks.ts';
import { TRACKING_SETTINGS_DEFAULT, type TrackingSettings } from '../stream/tracking-policy.ts';

/** The ring in memory and its image on disk. */
export interface WalOptions {
  /**
   * Slots of the ring, and WAL files. More slots ride out longer pauses of the flush. Default: what the store has, 4 in
   * a new one. Given another number than it has, the store is flushed and its WAL files made anew.
   */
  readonly slots?: number;
  /**
   * Bytes of a slot, a multiple of 64 KiB. Larger slots make larger segments. Default: what the store has, 32 MiB in a
   * new one; changed like `slots`.
   */
  readonly slotBytes?: number;
  /** Milliseconds until a slot with records is flushed though it is not full. Default 10,000. */
  readonly flushInterval?: number;
  /** Bytes of appends that may wait, by reference, while the ring is full. Default 64 MiB. */
  readonly maxQueuedBytes?: number;
}

/** What `open` takes. */
export interface OpenOptions {
  /**
   * Directory of the store; made when it does not exist. Not needed where both `objects` and `coordinator` say where
   * the store is.
   */
  readonly dir?: string;
  /**
   * Open for reading beside a running writer: no lock is taken and only records that are in segments are seen.
   * Default false.
   */
  readonly readOnly?: boolean;
  /** Open although acknowledged blocks of the WAL are damaged; what is lost is in `stats().recovery`. Default false. */
  readonly salvage?: boolean;
  /**
   * The write-ahead log; `false` for a store without one, whose appends are durable when their objects are. See
   * `docs/diskless.md`. A store keeps to what it was made with.
   */
  readonly wal?: WalOptions | false;
  /** How appends become objects where there is no WAL. */
  readonly diskless?: DisklessOptions;
  /** Where segments are kept: `s3(...)` of `millrace/s3`, or a directory. Default: the store's directory. */
  readonly objects?: ObjectStoreComponent | string;
  /**
   * Who keeps the store's metadata: `postgres(...)` of `millrace/postgres`, for stores without a WAL that any number of
   * processes open at once. Default: this process, in the store's directory.
   */
  readonly coordinator?: CoordinatorComponent;
  /** Largest record, key and value together. Default 16 MiB, less where a slot is smaller. */
  readonly maxRecordBytes?: number;
  /** Bytes of decoded chunks kept for readers. Default 32 MiB. */
  readonly cacheBytes?: number;
  /** Consumer offsets: `budget` 0.05 of user bytes, `maxInterval` 5,000 ms. */
  readonly tracking?: Partial<TrackingSettings>;
  /** Background compaction, on by default; `false` leaves it to `store.compact()`. See `docs/compaction.md`. */
  readonly compaction?: CompactionOptions | false;
}

/** The options with every default filled in, but for those whose default is what an existing store has. */
export interface Settings {
  /** `undefined` only where both `objects` and `coordinator` are given. */
  readonly dir: string | undefined;
  readonly readOnly: boolean;
  readonly salvage: boolean;
  readonly wal: Required<Pick<WalOptions, 'flushInterval' | 'maxQueuedBytes'>>;
  /** How to do without a WAL; `undefined` with one. */
  readonly diskless: DisklessSettings | undefined;
  /** As given; see `chooseGeometry`. */
  readonly geometry: Pick<WalOptions, 'slots' | 'slotBytes'>;
  /** `undefined`: the store's directory. */
  readonly objects: ObjectStoreComponent | undefined;
  /** `undefined`: this process. */
  readonly coordinator: CoordinatorComponent | undefined;
  /** As given; see `recordBytesMax`. */
  readonly maxRecordBytes: number | undefined;
  readonly cacheBytes: number;
  readonly tracking: TrackingSettings;
  readonly compaction: CompactionSettings;
  /** Whether compaction looks for work by itself. */
  readonly compactInBackground: boolean;
}

const OPTION_NAMES = new Set([
  'dir',
  'readOnly',
  'salvage',
  'wal',
  'diskless',
  'objects',
  'coordinator',
  'maxRecordBytes',
  'cacheBytes',
  'tracking',
  'compaction',
]);
const TRACKING_OPTION_NAMES = new Set(['budget', 'maxInterval']);
const WAL_OPTION_NAMES = new Set(['slots', 'slotBytes', 'flushInterval', 'maxQueuedBytes']);

/** Checks options; throws `ERR_MILLRACE_INVALID_ARGUMENT` naming the option and its range. */
export function settingsOf(input: string | OpenOptions): Settings {
  const options = typeof input === 'string' ? { dir: input } : input;
  if (typeof options !== 'object' || options === null) throw invalid('open takes a directory or options');
  checkOptionNames(options, OPTION_NAMES, 'open');
  const given = options.wal === false ? {} : (options.wal ?? {});
  if (typeof given !== 'object') throw invalid('option wal is false, or an object of options');
  checkOptionNames(given, WAL_OPTION_NAMES, 'open', 'wal.');
  const { flushInterval, maxQueuedBytes } = given;
  const readOnly = flag('readOnly', options.readOnly);
  return {
    dir: directoryGiven(options),
    readOnly,
    salvage: flag('salvage', options.salvage),
    wal: {
      flushInterval: whole('wal.flushInterval', flushInterval, FLUSH_INTERVAL_DEFAULT, 1, 2 ** 31 - 1),
      maxQueuedBytes: whole('wal.maxQueuedBytes', maxQueuedBytes, QUEUED_BYTES_DEFAULT, 0, Number.MAX_SAFE_INTEGER),
    },
    geometry: geometryGiven(given),
    diskless: disklessGiven(options),
    objects: objectsGiven(options.objects, readOnly),
    coordinator: coordinatorGiven(options.coordinator),
    maxRecordBytes: optional('maxRecordBytes', options.maxRecordBytes, 1, SLOT_BYTES_MAX),
    cacheBytes: whole('cacheBytes', options.cacheBytes, CACHE_BYTES_DEFAULT, 0, Number.MAX_SAFE_INTEGER),
    tracking: trackingOf(options.tracking ?? {}),
    compaction: compactionSettings(options.compaction === false ? {} : options.compaction),
    compactInBackground: options.compaction !== false,
  };
}

function directoryGiven({ dir, objects, coordinator }: OpenOptions): string | undefined {
  if (dir === undefined && objects !== undefined && coordinator !== undefined) return undefined;
  if (typeof dir !== 'string' || dir === '' || dir.includes('\0')) {
    throw invalid('option dir is the path of a directory; only stores with `objects` and `coordinator` do without');
  }
  return dir;
}

function objectsGiven(objects: OpenOptions['objects'], readOnly: boolean): ObjectStoreComponent | undefined {
  if (typeof objects === 'string') return describeDirectory(objects, readOnly);
  if (objects !== undefined)
    checkComponent('option objects is what `s3(...)` of `millrace/s3` gives, or a directory', objects);
  return objects;
}

function coordinatorGiven(coordinator: OpenOptions['coordinator']): CoordinatorComponent | undefined {
  const what = 'option coordinator is what `postgres(...)` of `millrace/postgres` gives';
  if (coordinator !== undefined) checkComponent(what, coordinator);
  return coordinator;
}

function disklessGiven({ wal, diskless, coordinator }: OpenOptions): DisklessSettings | undefined {
  if (wal === false) return disklessSettings(diskless);
  if (diskless !== undefined) throw invalid('option diskless is for stores without a WAL: give `wal: false` too');
  if (coordinator === undefined) return undefined;
  throw new MillraceError(
    'ERR_MILLRACE_UNSUPPORTED',
    'option coordinator needs `wal: false`: with a WAL, offsets are assigned at the append, by one process',
  );
}

/** The geometry as far as it is given. */
function geometryGiven(given: WalOptions): Settings['geometry'] {
  const slots = optional('wal.slots', given.slots, SLOTS_MIN, SLOTS_MAX);
  const slotBytes = optional('wal.slotBytes', given.slotBytes, SLOT_BYTES_MIN, SLOT_BYTES_MAX);
  return { ...(slots === undefined ? {} : { slots }), ...(slotBytes === undefined ? {} : { slotBytes }) };
}

function trackingOf(given: Partial<TrackingSettings>): TrackingSettings {
  checkOptionNames(given, TRACKING_OPTION_NAMES, 'open', 'tracking.');
  const { budget = TRACKING_SETTINGS_DEFAULT.budget } = given;
  if (!(typeof budget === 'number' && budget > 0 && budget <= 1))
    throw invalid('option tracking.budget is above 0 and at most 1');
  const maxInterval = whole(
    'tracking.maxInterval',
    given.maxInterval,
    TRACKING_SETTINGS_DEFAULT.maxInterval,
    1,
    2 ** 31 - 1,
  );
  return { budget, maxInterval };
}
