/** The records of one `appendMany`, in the forms that they come in: they enter the log together, in one turn. */
import { PackedValues } from '../record/packed-values.ts';
import { isBareValue, keyBytes, type RecordInput, valueRoom } from '../record/record-input.ts';
import type { FrameAppender, PublisherTag, WritableStreamState } from './frame-appender.ts';
import { type GroupContext, measureGroup, measurePacked } from './group-size.ts';
import { RECORD_HEADER_BYTES } from '../record/frame-format.ts';

/** Records of a publisher. Ids are in the order of the records. */
export interface PublishedBatch {
  readonly tag: PublisherTag;
  readonly publishingIds: readonly number[];
  /** Called for each record as it enters the log: from then on the id may be in a snapshot, and not before. */
  readonly placed: (publishingId: number, offset: number) => void;
  /** Whether a full queue refuses it. */
  readonly bounded: boolean;
}

export interface RecordGroup {
  readonly length: number;
  /** An upper bound of the bytes that the records take as frames. Throws when one of them cannot be taken. */
  measure(context: GroupContext): number;
  /**
   * Writes records from `index` on, until the ring is full or more than `slice` bytes are written. Returns the index of
   * the first that was not.
   */
  place(appender: FrameAppender, stream: WritableStreamState, index: number, now: number, slice: number): number;
  /** The same, for as long as it has to wait for room: what the caller has in hand may change meanwhile. */
  held(): RecordGroup;
}

/** Records one by one. Their values stay with the caller until there is room. */
class ListGroup implements RecordGroup {
  readonly #records: readonly RecordInput[];
  readonly #published: PublishedBatch | undefined;

  constructor(records: readonly RecordInput[], published: PublishedBatch | undefined) {
    this.#records = records;
    this.#published = published;
  }

  get length(): number {
    return this.#records.length;
  }

  measure(context: GroupContext): number {
    return measureGroup(this.#records, context);
  }

  place(appender: FrameAppender, stream: WritableStreamState, index: number, now: number, slice: number): number {
    const records = this.#records;
    const published = this.#published;
    const tag = published?.tag;
    let left = slice;
    for (; index < records.length; index += 1) {
      if (left <= 0) return index;
      const record = records[index] as RecordInput;
      const before = stream.userBytes;
      if (published !== undefined) published.tag.publishingId = published.publishingIds[index] as number;
      const fits = isBareValue(record)
        ? appender.append(stream, null, record, valueRoom(record), now, tag)
        : appender.append(
            stream,
            keyBytes(record.key),
            record.value,
            valueRoom(record.value),
            record.timestamp ?? now,
            tag,
          );
      if (!fits) return index;
      left -= stream.userBytes - before + RECORD_HEADER_BYTES;
      published?.placed(published.publishingIds[index] as number, stream.nextOffset - 1);
    }
    return index;
  }

  held(): RecordGroup {
    // The array may be used again.
    return new ListGroup([...this.#records], this.#published);
  }
}

/** Values that lie together: frame by frame. */
class PackedGroup implements RecordGroup {
  readonly #values: PackedValues;

  constructor(values: PackedValues) {
    this.#values = values;
  }

  get length(): number {
    return this.#values.length;
  }

  measure(context: GroupContext): number {
    return measurePacked(this.#values, context);
  }

  place(appender: FrameAppender, stream: WritableStreamState, index: number, now: number, slice: number): number {
    const values = this.#values;
    let left = slice;
    while (index < values.length && left > 0) {
      const before = stream.userBytes;
      const count = appender.appendPacked(stream, values, index, now);
      if (count === 0) return index;
      left -= stream.userBytes - before + count * RECORD_HEADER_BYTES;
      index += count;
    }
    return index;
  }

  held(): RecordGroup {
    return new PackedGroup(this.#values.kept());
  }
}

export function groupOf(
  records: readonly RecordInput[] | PackedValues,
  published: PublishedBatch | undefined,
): RecordGroup {
  return records instanceof PackedValues ? new PackedGroup(records) : new ListGroup(records, published);
}
