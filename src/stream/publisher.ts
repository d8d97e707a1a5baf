/** A publisher: appends each record once, however often it is sent. */
import { invalid, shown } from '../errors/argument-checks.ts';
import {
  type AppendOptions,
  checkAppendOptions,
  checkRecordList,
  checkRecordObject,
  isBareValue,
  type RecordInput,
  type RecordValue,
} from '../record/record-input.ts';
import type { PublisherTag, WritableStreamState } from './frame-appender.ts';
import type { Lane } from './lane.ts';
import type { PublisherReferences } from './stream-references.ts';

/** What became of a published record. */
export interface Published {
  /** Offset of the record; of a duplicate only when it is the publisher's latest record, otherwise `undefined`. */
  readonly offset: number | undefined;
  /** The id was published before, and nothing was appended now. */
  readonly duplicate: boolean;
}

/** A record of `appendMany`, under its publishing id. */
export type PublishedInput = {
  /** From 0, rising from record to record; gaps are allowed. */
  readonly publishingId: number;
  /** The value; `null` is a tombstone. */
  readonly value: RecordValue;
} & AppendOptions;

/** What a publisher works on; asked for at each call, so that a closed store answers with its own error. */
export interface PublisherHost {
  readonly stream: WritableStreamState;
  lane(): Lane;
  references(): PublisherReferences;
}

/** The highest id handed to the lane, and where its record goes. */
interface Claim {
  readonly publishingId: number;
  readonly offset: Promise<number>;
}

/**
 * A deduplicating producer, by `stream.publisher(reference)`: of a publishing id that is not above its last one nothing
 * is appended, also after a restart.
 */
export class Publisher {
  /** The name that its ids are stored under. */
  readonly reference: string;
  readonly #host: PublisherHost;
  readonly #tag: PublisherTag;
  #claim: Claim | undefined;

  /** @internal */
  constructor(reference: string, host: PublisherHost) {
    this.reference = reference;
    this.#host = host;
    this.#tag = { reference: Buffer.from(reference), publishingId: 0 };
  }

  /**
   * Appends a record under an id that grows from call to call. An id at or below the publisher's last one is a
   * duplicate: it is answered once the original is durable, and nothing is appended.
   */
  async append(publishingId: number, value: RecordValue, options: AppendOptions = {}): Promise<Published> {
    checkAppendOptions(options);
    const [published] = await this.#append([{ ...options, publishingId, value }], true);
    return published as Published;
  }

  /** Appends many; ids that do not grow, also within the call, are duplicates. One answer a record, in order. */
  async appendMany(records: readonly PublishedInput[]): Promise<Published[]> {
    checkRecordList(records);
    return this.#append(records, false);
  }

  /** The highest id published so far; `undefined` when there is none. */
  async lastPublishingId(): Promise<number | undefined> {
    await this.#host.references().ready(this.reference);
    return this.#lastId();
  }

  async #append(records: readonly PublishedInput[], bounded: boolean): Promise<Published[]> {
    const loading = this.#host.references().ready(this.reference);
    if (loading !== undefined) await loading;
    const last = this.#lastId();
    const fresh: RecordInput[] = [];
    const publishingIds: number[] = [];
    let highest = last;
    for (const record of records) {
      checkPublishingId((record as PublishedInput | undefined)?.publishingId);
      checkRecordObject(record);
      if (highest !== undefined && record.publishingId <= highest) continue;
      highest = record.publishingId;
      publishingIds.push(record.publishingId);
      fresh.push(withoutId(record));
    }
    const firstOffset = this.#appendFresh(fresh, publishingIds, bounded);
    const claim = this.#claim;
    const first = (await firstOffset) ?? 0;
    let appended = 0;
    const answers: Published[] = [];
    for (const record of records) {
      if (publishingIds[appended] === record.publishingId) {
        answers.push({ offset: first + appended, duplicate: false });
        appended += 1;
      } else {
        answers.push({ offset: await this.#offsetOf(record.publishingId, claim), duplicate: true });
      }
    }
    return answers;
  }

  /** @internal The stream is to be truncated: returns what forgets the ids claimed before, for they may be cut. */
  claimsToForget(): () => void {
    const claim = this.#claim;
    return () => {
      if (this.#claim === claim) this.#claim = undefined;
    };
  }

  /**
   * Resolves with the first offset; with `undefined`, once all that was sent before is durable, when nothing is new.
   */
  #appendFresh(
    records: readonly RecordInput[],
    publishingIds: readonly number[],
    bounded: boolean,
  ): Promise<number | undefined> {
    const { stream } = this.#host;
    const lane = this.#host.lane();
    const highest = publishingIds.at(-1);
    if (highest === undefined) return lane.barrier().then(() => undefined);
    const references = this.#host.references();
    // Throws before anything is claimed: a refused record can be sent again under its id.
    const firstOffset = lane.appendMany(stream, records, {
      tag: this.#tag,
      publishingIds,
      bounded,
      placed: (publishingId, offset) => {
        references.published(this.reference, publishingId, offset);
      },
    });
    const offset = firstOffset.then((first) => first + records.length - 1);
    const claim = { publishingId: highest, offset };
    this.#claim = claim;
    // Nothing of it was appended, so that it can be sent again; a lane that failed refuses that by itself.
    offset.catch(() => {
      if (this.#claim !== claim) return;
      this.#claim = undefined;
      references.forget(this.reference);
    });
    return firstOffset;
  }

  async #offsetOf(publishingId: number, claim: Claim | undefined): Promise<number | undefined> {
    if (claim?.publishingId === publishingId) return claim.offset;
    const mark = this.#host.references().publisher(this.reference);
    return mark?.publishingId === publishingId ? mark.offset : undefined;
  }

  #lastId(): number | undefined {
    const claimed = this.#claim?.publishingId;
    const known = this.#host.references().publisher(this.reference)?.publishingId;
    // A producer in another thread may have gone on since the last claim here.
    return claimed === undefined || known === undefined ? (claimed ?? known) : Math.max(claimed, known);
  }
}

function withoutId(record: PublishedInput): RecordInput {
  if (isBareValue(record.value) && record.key === undefined && record.timestamp === undefined) return record.value;
  return record;
}

function checkPublishingId(publishingId: unknown): void {
  if (Number.isSafeInteger(publishingId) && (publishingId as number) >= 0) return;
  throw invalid(`publishing id ${shown(publishingId)} is not a whole number from 0 on`);
}
