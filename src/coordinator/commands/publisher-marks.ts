/** The publishers of one stream while the runs of a commit are placed: each claim is compared, and set with its run. */
import { invalid } from '../../errors/argument-checks.ts';
import { PUBLISHERS_MAX } from '../../limits/limits.ts';
import type { PublisherClaim, PublisherMark } from '../runs.ts';
import type { StateEvent } from '../state/event.ts';
import type { StreamRow } from '../state/rows.ts';
import { checkInteger, checkTrackingReference } from './checks.ts';

export class PublisherMarks {
  readonly #stream: StreamRow;
  readonly #moved: Map<string, PublisherMark> = new Map();

  constructor(stream: StreamRow) {
    this.#stream = stream;
  }

  /** Whether every publisher still is where its writer believes it to be. */
  accepts(claims: readonly PublisherClaim[]): boolean {
    const seen = new Set<string>();
    for (const { reference, previousId, publishingId } of claims) {
      checkTrackingReference(reference);
      checkInteger(publishingId, 'a publishing id', previousId === undefined ? 0 : previousId + 1);
      if (seen.has(reference)) throw invalid(`a run names publisher ${reference} twice`);
      seen.add(reference);
    }
    return claims.every(({ reference, previousId }) => {
      const mark = this.#moved.get(reference) ?? this.#stream.publishers.get(reference);
      return mark?.publishingId === previousId;
    });
  }

  /** `shift`: from offsets of the claims to those of the stream. */
  move(
    claims: readonly PublisherClaim[],
    shift: number,
    { firstOffset, nextOffset }: { readonly firstOffset: number; readonly nextOffset: number },
  ): void {
    for (const { reference, publishingId, offset } of claims) {
      checkInteger(offset + shift, 'the offset of a published record', firstOffset, nextOffset - 1);
      this.#moved.set(reference, { publishingId, offset: offset + shift });
    }
  }

  events(): StateEvent[] {
    if (this.#moved.size === 0) return [];
    const marks = [...this.#moved].map(([reference, mark]) => ({ reference, ...mark }));
    const { streamId } = this.#stream;
    return [{ type: 'publishersMarked', streamId, marks, forgotten: this.#leastRecent() }];
  }

  /** Those that make room: the ones whose latest records lie lowest. */
  #leastRecent(): string[] {
    const { publishers, publisherCount } = this.#stream;
    const fresh = [...this.#moved.keys()].filter((reference) => !publishers.has(reference)).length;
    const excess = publisherCount + fresh - PUBLISHERS_MAX;
    if (excess <= 0) return [];
    return [...publishers]
      .filter(([reference]) => !this.#moved.has(reference))
      .sort(([, left], [, right]) => left.offset - right.offset)
      .slice(0, excess)
      .map(([reference]) => reference);
  }
}
