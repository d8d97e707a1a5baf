/**
 * The slow way to garbage: lists the object store and looks for objects that the coordinator does not know. Every
 * object is known from before its first byte until after its deletion, so there should be none; a writer that stopped
 * for hours and then went on, or metadata restored from a backup, may leave some.
 */
import type { SteadyTime } from '../base/clock.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import { parseObjectKey } from '../coordinator/object-key.ts';
import { flag, shown } from '../errors/argument-checks.ts';
import { isMillraceError, MillraceError } from '../errors/millrace-error.ts';
import { checkOptionNames } from '../errors/option-names.ts';
import type { ObjectEntry, ObjectStore } from '../object/object-store.ts';
import { SEGMENT_HEADER_BYTES } from '../segment/format.ts';
import { parseSegmentHeader } from '../segment/header.ts';
import { unfinishedBefore } from './janitor.ts';

/** How orphans are looked for. */
export interface OrphanOptions {
  /** Only report. Default false. */
  readonly dryRun?: boolean;
  /**
   * Milliseconds since an object was written until it may be an orphan; at least an hour. Must be more than the age of
   * any backup that the coordinator's metadata was restored from: what was written after it looks like an orphan.
   * Default 24 hours.
   */
  readonly minAge?: number;
}

/** What a search for orphans found, and did. */
export interface OrphanReport {
  /** Objects of this store that its coordinator does not know, older than `minAge`. */
  readonly orphans: number;
  /** Their size in all. */
  readonly orphanBytes: number;
  /** How many of them are certainly gone now; none after a dry run. */
  readonly deleted: number;
  /** The first thousand of them, in the order of their keys. */
  readonly listed: readonly ObjectEntry[];
  /** Unknown objects that are too young to be judged. */
  readonly young: number;
  /** Keys of unknown objects, a thousand at most, that are not, or not recognisably, of this store: never deleted. */
  readonly foreign: readonly string[];
  /** Objects in the making that nobody makes any more: deleted, or after a dry run found. */
  readonly unfinished: number;
  /** Objects in the object store. */
  readonly objects: number;
}

const OPTION_NAMES: ReadonlySet<string> = new Set(['dryRun', 'minAge']);
const ORPHAN_AGE_DEFAULT: number = 24 * 3_600_000;
const ORPHAN_AGE_MIN = 3_600_000;
/** Keys of one question to the coordinator, and of one deletion. */
const BATCH = 1_000;
const NAMED_MAX = 1_000;

export interface OrphanSearch {
  readonly coordinator: Coordinator;
  readonly objects: ObjectStore;
  readonly storeId: Uint8Array;
  /** Kept since before what may be in the making was begun. */
  readonly time: SteadyTime;
}

/** Throws `ERR_MILLRACE_INVALID_ARGUMENT` for an age that is not safe. */
export async function removeOrphans(search: OrphanSearch, options: OrphanOptions = {}): Promise<OrphanReport> {
  checkOptionNames(options, OPTION_NAMES, 'removeOrphans');
  const dryRun = flag('dryRun', options.dryRun);
  const { minAge = ORPHAN_AGE_DEFAULT } = options;
  if (!(Number.isFinite(minAge) && minAge >= ORPHAN_AGE_MIN)) {
    throw new MillraceError(
      'ERR_MILLRACE_INVALID_ARGUMENT',
      `minAge is milliseconds from ${ORPHAN_AGE_MIN} on, not ${shown(minAge)}: younger objects may be on their way`,
    );
  }
  const { coordinator, objects } = search;
  await coordinator.refresh();
  const { now } = await coordinator.stats();
  const found = new Findings(search, dryRun, now - minAge);
  let batch: ObjectEntry[] = [];
  for await (const entry of objects.list()) {
    if (batch.push(entry) < BATCH) continue;
    await found.judge(batch);
    batch = [];
  }
  await found.judge(batch);
  return found.report(await objects.removeUnfinished(unfinishedBefore(now, search.time), dryRun));
}

class Findings {
  readonly #search: OrphanSearch;
  readonly #dryRun: boolean;
  readonly #writtenBefore: number;
  readonly #listed: ObjectEntry[] = [];
  readonly #foreign: string[] = [];
  #objects = 0;
  #orphans = 0;
  #orphanBytes = 0;
  #deleted = 0;
  #young = 0;

  constructor(search: OrphanSearch, dryRun: boolean, writtenBefore: number) {
    this.#search = search;
    this.#dryRun = dryRun;
    this.#writtenBefore = writtenBefore;
  }

  async judge(entries: readonly ObjectEntry[]): Promise<void> {
    const { coordinator, objects } = this.#search;
    this.#objects += entries.length;
    // Asked after the listing: an object that was reserved meanwhile is known by now.
    const classes = await coordinator.classifyKeys(entries.map(({ key }) => key));
    const orphans: ObjectEntry[] = [];
    for (const [index, entry] of entries.entries()) {
      const found = classes[index];
      if (found !== 'unknown' && found !== 'gone') continue;
      if (entry.modifiedAt >= this.#writtenBefore) this.#young += 1;
      else if (await this.#isOurs(entry)) orphans.push(entry);
      else if (this.#foreign.length < NAMED_MAX) this.#foreign.push(entry.key);
    }
    this.#orphans += orphans.length;
    for (const orphan of orphans) {
      this.#orphanBytes += orphan.bytes;
      if (this.#listed.length < NAMED_MAX) this.#listed.push(orphan);
    }
    if (this.#dryRun || orphans.length === 0) return;
    this.#deleted += (await objects.delete(orphans.map(({ key }) => key))).length;
  }

  report(unfinished: number): OrphanReport {
    return {
      orphans: this.#orphans,
      orphanBytes: this.#orphanBytes,
      deleted: this.#deleted,
      listed: this.#listed,
      young: this.#young,
      foreign: this.#foreign,
      unfinished,
      objects: this.#objects,
    };
  }

  /** A prefix may have been given to two stores by mistake: the other one's objects are not ours to delete. */
  async #isOurs({ key, bytes }: ObjectEntry): Promise<boolean> {
    if (parseObjectKey(key) === undefined || bytes < SEGMENT_HEADER_BYTES) return false;
    const { objects, storeId } = this.#search;
    try {
      parseSegmentHeader(await objects.read(key, 0, SEGMENT_HEADER_BYTES), { objectKey: key, storeId });
      return true;
    } catch (error) {
      // What cannot be read now is not judged.
      if (!isMillraceError(error) || error.kind !== 'corrupt') throw error;
      return false;
    }
  }
}
