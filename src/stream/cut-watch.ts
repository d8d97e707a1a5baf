/**
 * Tells a reader that what it was given has been cut since, and other records have taken those offsets: by another
 * process, that is, since truncations of its own it is told of. The epoch of the last record it has says so.
 */
import type { Coordinator, FoundRuns } from '../coordinator/coordinator.ts';
import type { RecordBatch } from '../record/record-batch.ts';
import type { SegmentAccess } from './segment-access.ts';

const ONE_RUN = { maxRuns: 1, maxBytes: 1 };

export class CutWatch {
  readonly #coordinator: Coordinator;
  readonly #segments: SegmentAccess;
  readonly #streamId: number;
  /** The last record that the reader was given. */
  #last: { readonly offset: number; readonly epoch: number } | undefined;

  constructor(coordinator: Coordinator, segments: SegmentAccess, streamId: number) {
    this.#coordinator = coordinator;
    this.#segments = segments;
    this.#streamId = streamId;
  }

  /** The batch, which holds a record, was handed out. */
  delivered(batch: RecordBatch): void {
    const last = batch.length - 1;
    this.#last = { offset: batch.offset(last), epoch: batch.epoch(last) };
  }

  /** Whether the last record is no longer what it was. `found`: where reading would go on. */
  async wasCut({ firstOffset, nextOffset, runs }: FoundRuns): Promise<boolean> {
    const last = this.#last;
    if (last === undefined || last.offset < firstOffset) return false;
    if (last.offset >= nextOffset) return true;
    const [next] = runs;
    // Only a higher epoch can have come from a truncation, and it may have been right behind the record.
    if (next === undefined || next.epoch <= last.epoch) return false;
    const [run] = (await this.#coordinator.findRuns(this.#streamId, last.offset, ONE_RUN)).runs;
    if (run === undefined) return true;
    const record = await this.#segments.find(run, last.offset);
    return record !== undefined && record.epoch !== last.epoch;
  }
}
