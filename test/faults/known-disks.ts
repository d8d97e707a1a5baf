/**
 * What is known of disks: what a store in each shows, and which expectations that was held against. Chance, time and
 * what an opening reads decide what it does. So a disk is opened when it answers something that an opening asks as no
 * disk did before; else it shows what that one showed, which is held against what was acknowledged at its own moment.
 */
import assert from 'node:assert/strict';
import { xxh64 } from '../../src/codec/checksum.ts';
import type { Remains } from '../../src/testing/disk/losses.ts';
import { type DiskSnapshot, SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { checkSeen, type Floor, type SeenStore } from './check.ts';
import { type Answer, answer, Footprint, type Question } from './footprint.ts';
import { PartRecovery, type Told } from './part-recovery.ts';
import { openAndLook, type RecoveryOptions } from './recovery.ts';

/** Openings that asked the same so far, and were answered alike. */
interface Branch {
  /** What they all ask next; `undefined` before the first of them, and at their end. */
  question?: Question;
  readonly next: Map<Answer, Branch>;
  /** What they show in the end. */
  seen?: SeenStore;
}

/** What is left of a disk, and when. */
export interface Loss {
  readonly snapshot: DiskSnapshot;
  readonly remains: Remains;
  /** Of a process that was killed: what was not synced is there, until power is lost. */
  readonly isKill: boolean;
}

export interface KnownDisksEvents {
  /** A store had to be opened, with so many calls of its disk. */
  opened(calls: number): void;
  /** A manifest or a log had to be recovered. */
  readonly recovered: Told;
}

export class KnownDisks {
  readonly #events: KnownDisksEvents;
  readonly #parts: PartRecovery;
  /** By time and geometry. */
  readonly #roots = new Map<string, Branch>();
  readonly #found = new WeakMap<object, WeakMap<SeenStore, Map<number, Floor>>>();
  /** Stores that show the same are one. */
  readonly #stores = new Map<string, SeenStore>();
  /** Records are in many of the stores. */
  readonly #texts = new Map<string, string>();

  constructor(events: KnownDisksEvents) {
    this.#events = events;
    this.#parts = new PartRecovery(events.recovered);
  }

  /** Holds what is left against what has to be there; resolves with what is there. */
  async check(loss: Loss, options: Omit<RecoveryOptions, 'disk'>): Promise<Floor> {
    const { point, floor } = options;
    const { oracle, moment } = point;
    const seen = await this.#seenOn(loss, options);
    const stores = getOrMake(this.#found, floor ?? oracle, () => new WeakMap<SeenStore, Map<number, Floor>>());
    const moments = getOrMake(stores, seen, () => new Map<number, Floor>());
    const known = moments.get(moment) ?? checkSeen(seen, oracle, moment, floor);
    moments.set(moment, known);
    return known;
  }

  async #seenOn({ snapshot, remains }: Loss, options: Omit<RecoveryOptions, 'disk'>): Promise<SeenStore> {
    const { now, slots } = options.point;
    let disk: SimulatedDisk | undefined;
    const diskOf = (): SimulatedDisk => (disk ??= SimulatedDisk.of(snapshot, remains));
    const ask = (question: Question): Answer | Promise<Answer> => {
      if (question.about === 'manifest') return this.#parts.manifest(remains, diskOf);
      return question.about === 'log' ? this.#parts.log(remains) : answer(remains, question);
    };
    const root = getOrMake(this.#roots, `${now} ${slots}`, newBranch);
    let branch: Branch | undefined = root;
    while (branch?.question !== undefined) {
      const said: Answer | Promise<Answer> = ask(branch.question);
      branch = branch.next.get(typeof said === 'object' ? await said : said);
    }
    if (branch?.seen !== undefined) return branch.seen;
    const footprint = new Footprint(remains);
    const { seen, calls } = await openAndLook({ ...options, disk: diskOf(), seed: 1 }, this.#keep, footprint);
    this.#events.opened(calls);
    let end = root;
    for (const question of footprint.questions) {
      end.question ??= question;
      assert.equal(question.key, end.question.key, 'openings that were answered alike go on alike');
      end = getOrMake(end.next, await ask(question), newBranch);
    }
    assert.ok(end.question === undefined, 'openings that were answered alike end alike');
    end.seen = this.#only(seen);
    return end.seen;
  }

  #only(seen: SeenStore): SeenStore {
    const text = JSON.stringify([...seen].map(([name, stream]) => [name, { ...stream, ...listsOf(stream) }]));
    return getOrMake(this.#stores, String(xxh64(Buffer.from(text))), () => seen);
  }

  readonly #keep = (text: string): string => getOrMake(this.#texts, text, () => text);
}

function listsOf({
  content,
  offsets,
}: {
  content: ReadonlyMap<number, unknown>;
  offsets: ReadonlyMap<string, number>;
}): object {
  return { content: [...content], offsets: [...offsets] };
}

function newBranch(): Branch {
  return { next: new Map() };
}

function getOrMake<Key, Value>(
  map: { get(key: Key): Value | undefined; set(key: Key, value: Value): unknown },
  key: Key,
  make: () => Value,
): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
