/** Holds a store against the oracle: all that was acknowledged is there, and nothing that nobody asked for. */
import assert from 'node:assert/strict';
import type { Store, Stream } from '../../src/index.ts';
import type { StreamConfig } from '../../src/record/stream-config.ts';
import {
  type Change,
  type Deed,
  type Found,
  type FoundStream,
  type ModelRecord,
  type Oracle,
  StreamHistory,
} from './oracle.ts';
import { KEYED, PUBLISHED } from './steps.ts';

export const PUBLISHER = 'publisher';
export const CONSUMERS: readonly string[] = ['billing', 'audit'];

/** What an earlier opening of the same disk showed: by stream, the changes that must still be there. */
export type Floor = ReadonlyMap<string, FoundStream>;

/** All that a store shows of a stream. */
export interface SeenStream {
  readonly content: ReadonlyMap<number, ModelRecord>;
  readonly firstOffset: number;
  readonly nextOffset: number;
  readonly durableOffset: number;
  readonly count: number;
  readonly config: StreamConfig;
  /** By consumer. */
  readonly offsets: ReadonlyMap<string, number>;
  readonly publishingId: number | undefined;
}

export type SeenStore = ReadonlyMap<string, SeenStream>;

/** Throws an assertion error that says what is wrong. */
export async function checkStore(store: Store, oracle: Oracle, moment: number, floor?: Floor): Promise<Found> {
  return checkSeen(await lookAt(store), oracle, moment, floor);
}

/** Reads everything. `keep` may put an equal text in the place of one, for less memory. */
export async function lookAt(store: Store, keep = (text: string): string => text): Promise<SeenStore> {
  const seen = new Map<string, SeenStream>();
  for (const { name } of await store.streams()) {
    const stream = await store.stream(name);
    const { firstOffset, nextOffset, durableOffset, records: count } = await stream.info();
    const content = await contentOf(stream, keep);
    const offsets = new Map<string, number>();
    for (const consumer of CONSUMERS) {
      const offset = await stream.queryOffset(consumer);
      if (offset !== undefined) offsets.set(consumer, offset);
    }
    const publishingId = name === PUBLISHED ? await stream.publisher(PUBLISHER).lastPublishingId() : undefined;
    const { config } = stream;
    seen.set(name, { content, firstOffset, nextOffset, durableOffset, count, config, offsets, publishingId });
  }
  return seen;
}

/** As `checkStore`, of what was read before. */
export function checkSeen(seen: SeenStore, oracle: Oracle, moment: number, floor?: Floor): Found {
  const expected = oracle.streamsAt(moment);
  for (const name of seen.keys()) {
    assert.ok(expected.has(name), `${name} is there, and nobody made it or it was deleted`);
  }
  const found = new Map<string, FoundStream>();
  for (const [name, { history, certain }] of expected) {
    const stream = seen.get(name);
    if (stream !== undefined) found.set(name, checkStream(stream, history, moment, floor?.get(name)));
    else assert.ok(!certain && !floor?.has(name), `${name} was acknowledged and is gone`);
  }
  return found;
}

/** Of a store that may have stopped: all that was acknowledged can be read. */
export async function checkReads(store: Store, oracle: Oracle, moment: number): Promise<void> {
  for (const [name, { history, certain }] of oracle.streamsAt(moment)) {
    if (!certain) continue;
    const stream = await store.stream(name);
    const { firstOffset } = await stream.info();
    const content = await contentOf(stream);
    const { changes, certain: acknowledged } = history.changesAt(moment);
    const versions = history.versions(changes);
    const records = history.after(changes.slice(0, acknowledged));
    for (let offset = firstOffset; offset < records.length; offset += 1) {
      const found = content.get(offset);
      // What is not acknowledged may have cut it, or key compaction replaced it.
      const isCut = versions.some((version) => version[offset] !== records[offset]);
      if (found === undefined && (isCut || name === KEYED)) continue;
      const known = versions.some((version) => version[offset]?.value === found?.value);
      assert.ok(found !== undefined && known, `${name}: ${offset} was acknowledged and cannot be read`);
    }
  }
}

function checkStream(
  stream: SeenStream,
  history: StreamHistory,
  moment: number,
  floor: FoundStream | undefined,
): FoundStream {
  const { name } = history;
  const { content, firstOffset, nextOffset, durableOffset, count } = stream;
  assert.equal(durableOffset, nextOffset, `${name}: all that is there is durable`);
  assert.equal(count, content.size, `${name}: counts its records`);
  checkFirstOffset(history, moment, firstOffset);
  const { changes, certain } = history.changesAt(moment);
  const least = Math.max(certain, floor?.changes ?? 0);
  const kept = matching(history, changes, least, stream);
  const { values: configs } = StreamHistory.possible(history.configs, moment);
  const config = JSON.stringify(stream.config);
  assert.ok(
    configs.some((wanted) => JSON.stringify(wanted) === config),
    `${name}: has the config ${config}`,
  );
  const records = history.after(changes.slice(0, kept));
  checkConsumers(stream, history, moment);
  const { offsets, publishingId } = stream;
  if (name === PUBLISHED) checkPublisher(stream, history, changes.slice(0, kept));
  return { records, changes: kept, firstOffset, config: stream.config, offsets, publishingId };
}

/** What a reader sees of a stream, by offset. */
export async function contentOf(
  stream: Stream,
  keep = (text: string): string => text,
): Promise<Map<number, ModelRecord>> {
  const content = new Map<number, ModelRecord>();
  let last = -1;
  for await (const batch of stream.readBatches()) {
    for (let index = 0; index < batch.length; index += 1) {
      const { offset, key, value } = batch.record(index);
      assert.ok(offset > last, `${stream.name}: offset ${offset} comes after ${last}`);
      last = offset;
      content.set(offset, {
        key: key === null ? null : keep(key.toString()),
        value: value === null ? null : keep(value.toString()),
      });
    }
  }
  return content;
}

function checkFirstOffset(history: StreamHistory, moment: number, firstOffset: number): void {
  const { trims, configs, name } = history;
  const started = trims.filter(({ startedAt, refusedAt }) => startedAt < moment && refusedAt >= moment);
  const least = started.reduce((most, { content, ackedAt }) => (ackedAt < moment ? Math.max(most, content) : most), 0);
  const most = started.reduce((highest, { content }) => Math.max(highest, content), 0);
  const retains = configs.some(
    ({ content, startedAt }) => startedAt < moment && content.retention.maxBytes !== undefined,
  );
  assert.ok(firstOffset >= least, `${name}: starts at ${firstOffset}, and was trimmed to ${least}`);
  assert.ok(retains || firstOffset <= most, `${name}: starts at ${firstOffset}, and nobody trimmed it beyond ${most}`);
}

/** How many of the changes are there: at least `least`, and each whole or not at all. */
function matching(history: StreamHistory, changes: readonly Deed<Change>[], least: number, seen: SeenStream): number {
  const problems: string[] = [];
  // Where several explain what is there, the most do: those of them that change nothing are there too.
  for (let count = changes.length; count >= least; count -= 1) {
    const problem = difference(history, changes.slice(0, count), seen);
    if (problem === undefined) return count;
    problems.push(`with ${count} of ${changes.length}: ${problem}`);
  }
  assert.fail(`${history.name}: ${least} changes were acknowledged, and ${problems.at(-1) ?? 'none was asked for'}`);
}

function difference(
  history: StreamHistory,
  changes: readonly Deed<Change>[],
  { content, firstOffset, nextOffset }: SeenStream,
): string | undefined {
  const records = history.after(changes);
  if (records.length !== nextOffset) return `it ends at ${nextOffset} instead of ${records.length}`;
  const latest = new Map<string, number>();
  records.forEach(({ key }, offset) => key !== null && latest.set(key, offset));
  for (const [offset, found] of content) {
    const wanted = records[offset];
    if (wanted === undefined || wanted.key !== found.key || wanted.value !== found.value) {
      return `${offset} is ${shown(found)} instead of ${shown(wanted)}`;
    }
  }
  for (let offset = firstOffset; offset < nextOffset; offset += 1) {
    if (content.has(offset)) continue;
    const key = records[offset]?.key ?? null;
    const replaced = history.name === KEYED && key !== null && latest.get(key) !== offset;
    if (!replaced) return `${offset} is missing`;
  }
  return undefined;
}

function shown(record: ModelRecord | undefined): string {
  return record === undefined ? 'nothing' : `${record.key ?? ''}=${record.value?.slice(0, 20) ?? 'null'}`;
}

function checkConsumers({ firstOffset, offsets }: SeenStream, history: StreamHistory, moment: number): void {
  const { name } = history;
  const cuts = history.changes.flatMap(({ content, startedAt }) =>
    content.type === 'truncate' && startedAt < moment ? [content.nextOffset - 1] : [],
  );
  for (const reference of CONSUMERS) {
    const { values, sure } = StreamHistory.possible(history.offsets.get(reference) ?? [], moment);
    const offset = offsets.get(reference);
    if (offset === undefined) {
      const evicted = values.some((value) => value < firstOffset) || cuts.length > 0;
      assert.ok(!sure || evicted, `${name}: ${reference} is gone, ${values.join(' or ')} was stored`);
      continue;
    }
    const known = values.includes(offset) || cuts.includes(offset);
    assert.ok(known, `${name}: ${reference} is at ${offset}, ${values.join(' or ')} was stored`);
  }
}

/** The last id is that of the last record that is there, so that no id is taken for a duplicate without its record. */
function checkPublisher({ publishingId }: SeenStream, history: StreamHistory, changes: readonly Deed<Change>[]): void {
  const ids = changes.flatMap(({ content }) =>
    content.type === 'append' && content.publishingId !== undefined ? [content.publishingId] : [],
  );
  const last = ids.at(-1) ?? (history.publishedBefore > 0 ? history.publishedBefore - 1 : undefined);
  assert.equal(publishingId, last, `${history.name}: the last publishing id`);
}
