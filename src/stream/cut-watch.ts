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
  /** The last record that the reader was given; at first the one in front of where it starts, whoever has that. */
  #last: { readonly offset: number; readonly epoch: number };
  #isGiven = false;

  /** `start`: where the reader starts, and the epoch of the stream when that was chosen. */
  constructor(
    coordinator: Coordinator,
    segments: SegmentAccess,
    streamId: number,
    start: { readonly offset: number; readonly epoch: number },
  ) {
    this.#coordinator = coordinator;
    this.#segments = segments;
    this.#streamId = streamId;
    this.#last = { offset: start.offset - 1, epoch: start.epoch };
  }

  /** The batch, which holds a record, was handed out. */
  delivered(batch: RecordBatch): void {
    const last = batch.length - 1;
    this.#last = { offset: batch.offset(last), epoch: batch.epoch(last) };
    this.#isGiven = true;
  }

  /** Whether the last record is no longer what it was. `found`: where reading would go on. */
  async wasCut({ firstOffset, nextOffset, epoch, runs }: FoundRuns): Promise<boolean> {
    const last = this.#last;
    if (last.offset < firstOffset) return false;
    // A start may be further than what is stored yet; its record has the epoch of the stream then, or an older one.
    if (!this.#isGiven && epoch <= last.epoch) return false;
    if (last.offset >= nextOffset) return true;
    const [next] = runs;
    // Only a higher epoch can have come from a truncation, and it may have been right behind the record.
    if (next === undefined || next.epoch <= last.epoch) return false;
    const [run] = (await this.#coordinator.findRuns(this.#streamId, last.offset, ONE_RUN)).runs;
    if (run === undefined) return true;
    const record = await this.#segments.find(run, last.offset);
    if (record === undefined) return false;
    return this.#isGiven ? record.epoch !== last.epoch : record.epoch > last.epoch;
  }
}
