/**
 * What a store may hold: everything that was asked of it, each with the moments at which it was asked and acknowledged.
 * Moments are counted, so that one history answers for every crash on its way.
 */
import type { StreamConfig } from '../../src/record/stream-config.ts';

/** A value as text, `null` for a tombstone. */
export interface ModelRecord {
  readonly key: string | null;
  readonly value: string | null;
}

/** Something asked of the store; it is certainly there once it was acknowledged. */
export class Deed<Content> {
  readonly content: Content;
  readonly startedAt: number;
  ackedAt: number = Infinity;
  /** Refused: it never had an effect. */
  refusedAt: number = Infinity;

  constructor(content: Content, startedAt: number) {
    this.content = content;
    this.startedAt = startedAt;
  }
}

export type Change =
  | { readonly type: 'append'; readonly records: readonly ModelRecord[]; readonly publishingId?: number }
  | { readonly type: 'truncate'; readonly nextOffset: number };

/** From a stream's creation to its deletion. */
export class StreamHistory {
  readonly name: string;
  readonly created: Deed<StreamConfig>;
  deleted: Deed<undefined> | undefined;
  /** Records by offset at the beginning: all that were ever there, trimmed and compacted ones too. */
  readonly base: readonly ModelRecord[];
  /** In the order in which they take effect. */
  readonly changes: Deed<Change>[] = [];
  readonly trims: Deed<number>[] = [];
  readonly configs: Deed<StreamConfig>[];
  /** By consumer. */
  readonly offsets: Map<string, Deed<number>[]> = new Map();
  readonly publishedBefore: number;

  constructor(name: string, created: Deed<StreamConfig>, base: readonly ModelRecord[] = [], publishedBefore = 0) {
    this.name = name;
    this.created = created;
    this.configs = [created];
    this.base = base;
    this.publishedBefore = publishedBefore;
  }

  /** All records by offset, whatever is acknowledged of them. */
  get latest(): ModelRecord[] {
    return this.after(this.changes.filter(({ refusedAt }) => refusedAt === Infinity));
  }

  after(changes: readonly Deed<Change>[]): ModelRecord[] {
    const records = this.base.slice();
    for (const { content } of changes) {
      if (content.type === 'append') records.push(...content.records);
      else records.length = Math.min(records.length, content.nextOffset);
    }
    return records;
  }

  /** The records before the first of the changes, and after each of them. */
  versions(changes: readonly Deed<Change>[] = this.changes): ModelRecord[][] {
    return [[], ...changes].map((_, count) => this.after(changes.slice(0, count)));
  }

  /** Changes that may be there at a moment, and how many of them, from the first on, certainly are. */
  changesAt(moment: number): { readonly changes: readonly Deed<Change>[]; readonly certain: number } {
    const changes = this.changes.filter(({ startedAt, refusedAt }) => startedAt < moment && refusedAt >= moment);
    return { changes, certain: 1 + changes.findLastIndex(({ ackedAt }) => ackedAt < moment) };
  }

  /** Values of which one holds at a moment: the last that was acknowledged, and those asked for since. */
  static possible<T>(
    deeds: readonly Deed<T>[],
    moment: number,
  ): { readonly values: readonly T[]; readonly sure: boolean } {
    const started = deeds.filter(({ startedAt, refusedAt }) => startedAt < moment && refusedAt >= moment);
    const last = started.findLastIndex(({ ackedAt }) => ackedAt < moment);
    return { values: started.slice(Math.max(0, last)).map(({ content }) => content), sure: last >= 0 };
  }
}

/** What a store was found to hold of a stream, for the history to go on from. */
export interface FoundStream {
  readonly records: readonly ModelRecord[];
  /** Changes that are there. */
  readonly changes: number;
  readonly firstOffset: number;
  readonly config: StreamConfig;
  readonly offsets: ReadonlyMap<string, number>;
  readonly publishingId: number | undefined;
}

export type Found = ReadonlyMap<string, FoundStream>;

export class Oracle {
  now = 0;
  readonly streams: StreamHistory[] = [];

  moment(): number {
    this.now += 1;
    return this.now;
  }

  /** The history of a name that goes on now; `undefined` when there is no such stream. */
  current(name: string): StreamHistory | undefined {
    const stream = this.streams.findLast((history) => history.name === name);
    return stream?.deleted === undefined ? stream : undefined;
  }

  create(name: string, config: StreamConfig): StreamHistory {
    const stream = new StreamHistory(name, new Deed(config, this.moment()));
    this.streams.push(stream);
    return stream;
  }

  /** Runs what a deed stands for, and notes what became of it. A refusal is an error that says nothing was done. */
  async perform<T>(deed: Deed<unknown>, work: () => Promise<T>, isRefusal: (error: unknown) => boolean): Promise<T> {
    try {
      const result = await work();
      deed.ackedAt = this.moment();
      return result;
    } catch (error) {
      if (isRefusal(error)) deed.refusedAt = this.moment();
      throw error;
    }
  }

  /** Streams that may be there at a moment, and whether they have to. */
  streamsAt(moment: number): Map<string, { readonly history: StreamHistory; readonly certain: boolean }> {
    const streams = new Map<string, { readonly history: StreamHistory; readonly certain: boolean }>();
    for (const history of this.streams) {
      const { created, deleted } = history;
      if (created.startedAt >= moment) continue;
      if (deleted !== undefined && deleted.ackedAt < moment) streams.delete(history.name);
      else {
        const deleting = deleted !== undefined && deleted.startedAt < moment;
        streams.set(history.name, { history, certain: created.ackedAt < moment && !deleting });
      }
    }
    return streams;
  }

  /** An oracle for which what was found was acknowledged, and nothing else was ever asked for. */
  after(found: Found): Oracle {
    const oracle = new Oracle();
    for (const [name, stream] of found) {
      const sure = <T>(content: T): Deed<T> => {
        const deed = new Deed(content, oracle.moment());
        deed.ackedAt = oracle.moment();
        return deed;
      };
      const history = new StreamHistory(name, sure(stream.config), stream.records, (stream.publishingId ?? -1) + 1);
      history.trims.push(sure(stream.firstOffset));
      for (const [reference, offset] of stream.offsets) history.offsets.set(reference, [sure(offset)]);
      oracle.streams.push(history);
    }
    return oracle;
  }
}
