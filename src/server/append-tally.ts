/** Appends batches of one request, as a publisher or not, and keeps account of where the records went. */
import { MillraceError } from '../errors/millrace-error.ts';
import type { AppendTarget } from '../lines/bounded-appender.ts';
import { PackedValues } from '../record/packed-values.ts';
import { isBareValue, type RecordInput } from '../record/record-input.ts';
import type { PublishedInput, Publisher } from '../stream/publisher.ts';
import type { Stream } from '../stream/stream.ts';

/** Records with consecutive offsets. */
export interface OffsetRange {
  readonly firstOffset: number;
  records: number;
}

/** Other writers of the stream may come in between again and again; the answer stays small all the same. */
const RANGES_MAX = 1_000;

export interface PublisherPosition {
  readonly publisher: Publisher;
  /** Id of the first record; each later one has the next. */
  readonly firstPublishingId: number;
}

export class AppendTally implements AppendTarget {
  readonly #stream: Stream;
  readonly #publisher: Publisher | undefined;
  #nextPublishingId: number;
  /** Id behind the last record that is durable. */
  #settledPublishingId: number;
  readonly #ranges: OffsetRange[] = [];
  #ranged = true;
  #records = 0;
  #duplicates = 0;

  constructor(stream: Stream, position?: PublisherPosition) {
    this.#stream = stream;
    this.#publisher = position?.publisher;
    this.#nextPublishingId = position?.firstPublishingId ?? 0;
    this.#settledPublishingId = this.#nextPublishingId;
  }

  /** Throws what records are refused with before any of them is published or appended. */
  appendOrThrow(records: readonly RecordInput[] | PackedValues): Promise<number> {
    if (this.#publisher !== undefined) return this.#publish(this.#publisher, records);
    const { length } = records;
    return this.#stream.appendOrThrow(records).then((firstOffset) => {
      this.#add(firstOffset, length);
      return firstOffset;
    });
  }

  async #publish(publisher: Publisher, records: readonly RecordInput[] | PackedValues): Promise<number> {
    const list = records instanceof PackedValues ? records.kept().values() : records;
    const published = await publisher.appendMany(list.map((record) => this.#withId(record)));
    for (const { offset, duplicate } of published) {
      if (duplicate) this.#duplicates += 1;
      else this.#add(offset ?? 0, 1);
    }
    this.#settledPublishingId += published.length;
    return 0;
  }

  /** What is durable by now. `ranges` is left out when there are too many. */
  summary(): Record<string, unknown> {
    return {
      records: this.#records,
      duplicates: this.#duplicates,
      ...(this.#ranged ? { ranges: this.#ranges } : {}),
      ...(this.#publisher === undefined ? {} : { nextPublishingId: this.#settledPublishingId }),
    };
  }

  #withId(record: RecordInput): PublishedInput {
    const publishingId = this.#nextPublishingId++;
    if (!Number.isSafeInteger(publishingId)) {
      throw new MillraceError('ERR_MILLRACE_INVALID_ARGUMENT', 'publishing ids end at 2^53 - 1');
    }
    return isBareValue(record) ? { publishingId, value: record } : { ...record, publishingId };
  }

  #add(firstOffset: number, records: number): void {
    this.#records += records;
    const last = this.#ranges.at(-1);
    if (last !== undefined && last.firstOffset + last.records === firstOffset) last.records += records;
    else if (this.#ranges.length < RANGES_MAX) this.#ranges.push({ firstOffset, records });
    else this.#ranged = false;
  }
}
