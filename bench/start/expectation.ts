/** What must be in the store: per stream, the digest of the records that were acknowledged, from the plan alone. */
import type { Plan } from './plan.ts';
import { RecordDigest } from './record-digest.ts';

export class Expectation {
  readonly #plan: Plan;
  readonly #digests: readonly RecordDigest[];
  /** Acknowledged ranges behind one that is not acknowledged yet: next by first. */
  readonly #ahead: readonly Map<number, number>[];

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#digests = plan.corpus.map(() => new RecordDigest());
    this.#ahead = plan.corpus.map(() => new Map<number, number>());
  }

  /** Records `first` to `next` - 1 were acknowledged. Ranges of one stream may come out of order. */
  acknowledge(stream: number, first: number, next: number): void {
    const ahead = this.#ahead[stream];
    if (ahead === undefined) throw new RangeError(`stream ${stream} does not exist`);
    ahead.set(first, next);
    for (let from = this.records(stream); ; from = this.records(stream)) {
      const to = ahead.get(from);
      if (to === undefined) return;
      ahead.delete(from);
      this.advance(stream, to);
    }
  }

  /** Counts everything up to `next` as acknowledged. */
  advance(stream: number, next: number): void {
    const digest = this.#digest(stream);
    for (let index = digest.records; index < next; index += 1) {
      digest.add(this.#plan.timestamp(index), this.#plan.value(stream, index));
    }
  }

  /** Acknowledged records of a stream, without any that an unacknowledged one comes before. */
  records(stream: number): number {
    return this.#digest(stream).records;
  }

  /** Their digest. */
  hash(stream: number): bigint {
    return this.#digest(stream).value();
  }

  /** Acknowledged bytes of all streams. */
  get bytes(): number {
    return this.#digests.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** Acknowledged records of all streams. */
  get totalRecords(): number {
    return this.#digests.reduce((sum, { records }) => sum + records, 0);
  }

  #digest(stream: number): RecordDigest {
    const digest = this.#digests[stream];
    if (digest === undefined) throw new RangeError(`stream ${stream} does not exist`);
    return digest;
  }
}
