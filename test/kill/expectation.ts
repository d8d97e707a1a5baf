/** What must be in a store after its process was killed, and whether it is. */
import assert from 'node:assert/strict';
import type { Store, Stream } from '../../src/index.ts';
import { PUBLISHER } from './actors.ts';
import { OwnedStream } from './owned-stream.ts';
import type { Report } from './reports.ts';
import { markOf, type RecordMark, valueOf } from './values.ts';
import { ownedNames, sharedNames, type Workload } from './workloads.ts';

interface StreamExpectation {
  /** By offset, what was acknowledged there. */
  readonly values: Map<number, string>;
  /** Ids that were answered, also as duplicates. */
  readonly publishingIds: Set<number>;
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
  /** Acknowledged records. */
  records = 0;

  constructor(workload: Workload) {
    this.#shared = sharedNames(workload);
    this.#owned = new Map(ownedNames(workload).map((name) => [name, new OwnedStream(workload.owned?.keyed === true)]));
  }

  add(report: Report): void {
    if (report.type === 'open' || report.type === 'survived') return;
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
        stream.values.set(offset + index, valueOf({ append, index, count, publishingId: undefined }));
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
    for (const [name, { publishingIds }] of this.#streams) {
      let next = 0;
      while (publishingIds.has(next)) next += 1;
      from[name] = next;
    }
    return from;
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
      const { values, trimming } = this.#stream(name);
      const content = new Map((seen.get(name) ?? []).map(({ offset, value }) => [offset, value]));
      for (const [offset, value] of values) {
        if (offset >= trimming) assert.equal(content.get(offset), value, `${name}: ${offset} cannot be read`);
      }
    }
    for (const [name, owned] of this.#owned) owned.checkSeen(name, seen.get(name) ?? []);
  }

  async #checkShared(store: Store, name: string): Promise<Content> {
    const stream = await store.stream(name);
    const expected = this.#stream(name);
    const { firstOffset, nextOffset, durableOffset, records } = await stream.info();
    const content: { offset: number; value: string }[] = [];
    for await (const { offset, value } of stream.read()) content.push({ offset, value: value?.toString() ?? '' });
    assert.ok(firstOffset >= expected.trimmed && firstOffset <= expected.trimming, `${name}: starts at ${firstOffset}`);
    assert.equal(content.length, nextOffset - firstOffset, `${name}: as many records as offsets`);
    assert.equal(records, content.length, `${name}: counts its records`);
    assert.equal(durableOffset, nextOffset);
    content.forEach(({ offset }, index) => assert.equal(offset, firstOffset + index, `${name}: offsets are dense`));
    for (const [offset, value] of expected.values) {
      if (offset >= firstOffset)
        assert.equal(content[offset - firstOffset]?.value, value, `${name}: lost or changed ${offset}`);
    }
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
    if (offset !== undefined) stream.values.set(offset, valueOf({ append, index: 0, count: 1, publishingId }));
    this.records += 1;
  }

  async #checkReferences(name: string, stream: Stream, content: Content, expected: StreamExpectation): Promise<void> {
    const published = content.flatMap(({ value }) => markOf(value).publishingId ?? []);
    published.forEach((id, index) => {
      if (index > 0) assert.equal(id, (published[index - 1] as number) + 1, `${name}: each id once and in order`);
    });
    const last = await stream.publisher(PUBLISHER).lastPublishingId();
    if (published.length > 0) assert.equal(last, published.at(-1), `${name}: the last id is that of the last record`);
    for (const id of expected.publishingIds) assert.ok((last ?? -1) >= id, `${name}: id ${id} was acknowledged`);
    for (const [reference, offsets] of expected.stored) {
      const found = await stream.queryOffset(reference);
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
        values: new Map(),
        publishingIds: new Set(),
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
