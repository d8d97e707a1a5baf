/** What must be in a store after its process was killed, and whether it is. */
import assert from 'node:assert/strict';
import type { Store, Stream } from '../../src/index.ts';
import { PUBLISHER } from './actors.ts';
import { OwnedStream } from './owned-stream.ts';
import type { Report } from './reports.ts';
import { PublishingIds } from './publishing-ids.ts';
import { readWhole } from './reading.ts';
import { markOf, type RecordMark, valueOf } from './values.ts';
import { ownedNames, producedNames, sharedNames, type Workload } from './workloads.ts';

interface StreamExpectation {
  /** By offset, what was acknowledged there. */
  readonly marks: Map<number, RecordMark>;
  /** Those that were answered, also as duplicates. */
  readonly publishingIds: PublishingIds;
  /** By consumer: the offset that was acknowledged last, and those asked for since. */
  readonly stored: Map<string, readonly number[]>;
  readonly acknowledged: Set<string>;
  /** The stream starts at one of [`trimmed`, `trimming`]. */
  trimmed: number;
  trimming: number;
}

/** A stream as it was found: offsets and values. */
export type Content = readonly { readonly offset: number; readonly value: string }[];

export class Expectation {
  readonly #streams = new Map<string, StreamExpectation>();
  readonly #owned: ReadonlyMap<string, OwnedStream>;
  readonly #shared: readonly string[];
  /** Retention may remove the first records of shared streams. */
  readonly #retained: boolean;
  /** Acknowledged records. */
  records = 0;

  constructor(workload: Workload) {
    this.#shared = sharedNames(workload);
    this.#retained = workload.retention !== undefined;
    const keyed = workload.owned?.keyed === true;
    const retained = this.#retained;
    this.#owned = new Map([
      ...ownedNames(workload).map((name) => [name, new OwnedStream({ keyed })] as const),
      ...producedNames(workload).map((name) => [name, new OwnedStream({ retained })] as const),
    ]);
  }

  add(report: Report): void {
    if (report.type === 'open' || report.type === 'survived') return;
    if (report.type === 'sample') {
      this.forget(report.starts);
      return;
    }
    if (report.type === 'step') {
      this.#owned.get(report.stream)?.begin(report.step);
      return;
    }
    if (report.type === 'done') {
      this.#owned.get(report.stream)?.finish();
      return;
    }
    const stream = this.#stream(report.stream);
    if (report.type === 'appended') {
      const { append, count, offset } = report;
      for (let index = 0; index < count; index += 1) {
        stream.marks.set(offset + index, { append, index, count, publishingId: undefined });
      }
      this.records += count;
    } else if (report.type === 'published') {
      this.#published(stream, report);
    } else if (report.type === 'stored') {
      stream.acknowledged.add(report.reference);
      stream.stored.set(report.reference, [report.offset]);
    } else if (report.type === 'storing') {
      stream.stored.set(report.reference, [...(stream.stored.get(report.reference) ?? []), report.offset]);
    } else if (report.type === 'trimming') {
      stream.trimming = Math.max(stream.trimming, report.before);
    } else {
      stream.trimmed = Math.max(stream.trimmed, report.before);
    }
  }

  /** The first publishing id of each stream that nobody was told to be durable. */
  publishFrom(): Record<string, number> {
    const from: Record<string, number> = {};
    for (const [name, { publishingIds }] of this.#streams) from[name] = publishingIds.next;
    return from;
  }

  /** Forgets what retention was seen to have removed: each stream begins at this offset at least. */
  forget(starts: Readonly<Record<string, number>>): void {
    for (const [name, firstOffset] of Object.entries(starts)) {
      this.#owned.get(name)?.forget(firstOffset);
      if (this.#retained) forgetBelow(this.#streams.get(name)?.marks, firstOffset);
    }
  }

  /** Holds every stream against what is expected of it; returns what they hold. */
  async check(store: Store): Promise<Map<string, Content>> {
    const found = new Map<string, Content>();
    for (const name of this.#shared) found.set(name, await this.#checkShared(store, name));
    for (const [name, owned] of this.#owned) found.set(name, await owned.check(store, name));
    return found;
  }

  /** Holds what a process could read when it had stopped, before its end, against what it was told by then. */
  checkSeen(seen: ReadonlyMap<string, Content>): void {
    for (const name of this.#shared) {
      const { marks, trimming } = this.#stream(name);
      const found = seen.get(name) ?? [];
      const content = new Map(found.map(({ offset, value }) => [offset, value]));
      const start = this.#retained ? (found[0]?.offset ?? 0) : trimming;
      for (const [offset, mark] of marks) {
        if (offset >= start) assert.equal(content.get(offset), valueOf(mark), `${name}: ${offset} cannot be read`);
      }
    }
    for (const [name, owned] of this.#owned) owned.checkSeen(name, seen.get(name) ?? []);
  }

  async #checkShared(store: Store, name: string): Promise<Content> {
    const stream = await store.stream(name);
    const expected = this.#stream(name);
    const { info, content } = await readWhole(stream);
    const { firstOffset, nextOffset, durableOffset, records } = info;
    if (this.#retained) expected.trimming = Math.max(expected.trimming, firstOffset);
    assert.ok(firstOffset >= expected.trimmed && firstOffset <= expected.trimming, `${name}: starts at ${firstOffset}`);
    assert.equal(content.length, nextOffset - firstOffset, `${name}: as many records as offsets`);
    assert.equal(records, content.length, `${name}: counts its records`);
    assert.equal(durableOffset, nextOffset);
    content.forEach(({ offset }, index) => assert.equal(offset, firstOffset + index, `${name}: offsets are dense`));
    for (const [offset, mark] of expected.marks) {
      if (offset < firstOffset) continue;
      assert.equal(content[offset - firstOffset]?.value, valueOf(mark), `${name}: lost or changed ${offset}`);
    }
    forgetBelow(expected.marks, firstOffset);
    checkAppends(name, content, firstOffset);
    await this.#checkReferences(name, stream, content, expected);
    // Consumers may go where the interrupted process has led them: from here on, what is there now holds.
    expected.trimmed = firstOffset;
    expected.trimming = firstOffset;
    return content;
  }

  #published(
    stream: StreamExpectation,
    { publishingId, offset, ...report }: Extract<Report, { type: 'published' }>,
  ): void {
    stream.publishingIds.add(publishingId);
    const append = `${report.stream}/${publishingId}`;
    if (offset !== undefined) stream.marks.set(offset, { append, index: 0, count: 1, publishingId });
    this.records += 1;
  }

  async #checkReferences(name: string, stream: Stream, content: Content, expected: StreamExpectation): Promise<void> {
    const published = content.flatMap(({ value }) => markOf(value).publishingId ?? []);
    published.forEach((id, index) => {
      if (index > 0) assert.equal(id, (published[index - 1] as number) + 1, `${name}: each id once and in order`);
    });
    const last = await stream.publisher(PUBLISHER).lastPublishingId();
    if (published.length > 0) assert.equal(last, published.at(-1), `${name}: the last id is that of the last record`);
    const acknowledged = expected.publishingIds.last;
    assert.ok((last ?? -1) >= acknowledged, `${name}: id ${acknowledged} was acknowledged, the last is ${last}`);
    for (const [reference, offsets] of expected.stored) {
      const found = await stream.queryOffset(reference);
      // What recovery left in the ring is flushed meanwhile, and retention goes on.
      if (this.#retained) expected.trimming = Math.max(expected.trimming, (await stream.info()).firstOffset);
      // A consumer below the start of the stream is dropped; one that nobody acknowledged may never have been stored.
      const mayBeGone = !expected.acknowledged.has(reference) || offsets.some((offset) => offset < expected.trimming);
      const isExpected = found === undefined ? mayBeGone : offsets.includes(found);
      assert.ok(isExpected, `${name}: ${reference} is at ${found}, where ${offsets.join(' or ')} was stored`);
      if (found === undefined) {
        expected.stored.delete(reference);
        expected.acknowledged.delete(reference);
      } else {
        expected.stored.set(reference, [found]);
      }
    }
  }

  #stream(name: string): StreamExpectation {
    let stream = this.#streams.get(name);
    if (stream === undefined) {
      stream = {
        marks: new Map(),
        publishingIds: new PublishingIds(),
        stored: new Map(),
        acknowledged: new Set(),
        trimmed: 0,
        trimming: 0,
      };
      this.#streams.set(name, stream);
    }
    return stream;
  }
}

function forgetBelow(marks: Map<number, RecordMark> | undefined, firstOffset: number): void {
  for (const offset of marks?.keys() ?? []) if (offset < firstOffset) marks?.delete(offset);
}

/** Every append is there once and whole; only a trim may have taken its first records. */
function checkAppends(name: string, content: Content, firstOffset: number): void {
  const seen = new Set<string>();
  let due: RecordMark | undefined;
  for (const { offset, value } of content) {
    const mark = markOf(value);
    if (due !== undefined) {
      assert.equal(mark.append, due.append, `${name}: ${due.append} is torn at ${offset}`);
      assert.equal(mark.index, due.index, `${name}: ${due.append} goes on at ${offset}`);
    } else {
      assert.ok(
        mark.index === 0 || offset === firstOffset,
        `${name}: ${mark.append} begins in the middle at ${offset}`,
      );
      assert.ok(!seen.has(mark.append), `${name}: ${mark.append} is there twice`);
      seen.add(mark.append);
    }
    due = mark.index + 1 < mark.count ? { ...mark, index: mark.index + 1 } : undefined;
  }
  assert.equal(due, undefined, `${name}: ${due?.append} is cut off at the end`);
}
