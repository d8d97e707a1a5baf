/**
 * What a stream's tracking has come to since its last snapshot, as opening the stream would have to read it: of each
 * run the last entry of each reference. Decides when a snapshot is the shorter way to say it.
 */
import { assert } from '../base/assert.ts';
import { TRACKING_RUNS_MAX } from '../limits/limits.ts';
import { TRACKING_ENTRY, type TrackingEntry } from '../record/tracking-format.ts';
import type { TrackingDebt } from './tracking-loader.ts';

/** Type, length, and one or two values. */
const CONSUMER_BYTES = 10;
const PUBLISHER_BYTES = 18;
const CUT_BYTES = 10;

export class UnsnapshottedTracking {
  #bytes: number;
  #runs: number;
  #wanted = false;
  /** References that entries of the open filling name. */
  readonly #consumers = new Set<string>();
  readonly #publishers = new Set<string>();
  #isCut = false;

  /** `debt` is what was found when the stream was opened. */
  constructor({ bytes, runs }: TrackingDebt) {
    this.#bytes = bytes;
    this.#runs = runs;
  }

  /** A consumer's entry entered the log. */
  stored(entry: TrackingEntry): void {
    assert(entry.type !== TRACKING_ENTRY.cut, 'a cut names no consumer');
    this.#consumers.add(entry.reference);
  }

  published(reference: string): void {
    this.#publishers.add(reference);
  }

  cut(): void {
    this.#isCut = true;
  }

  /** The next snapshot is due whatever it weighs. */
  wantSnapshot(): void {
    this.#wanted = true;
  }

  /** The open filling ends. Returns whether there is anything that a snapshot could replace. */
  endFilling(): boolean {
    // Asked of every open stream: emptying two sets of each that tracks nothing takes milliseconds where they are many.
    if (this.#consumers.size + this.#publishers.size > 0 || this.#isCut) this.#count();
    return this.#bytes > 0 || this.#wanted;
  }

  #count(): void {
    let bytes = this.#isCut ? CUT_BYTES : 0;
    for (const reference of this.#consumers) bytes += CONSUMER_BYTES + Buffer.byteLength(reference);
    for (const reference of this.#publishers) bytes += PUBLISHER_BYTES + Buffer.byteLength(reference);
    this.#consumers.clear();
    this.#publishers.clear();
    this.#isCut = false;
    this.#bytes += bytes;
    this.#runs += 1;
  }

  /** Whether a snapshot of `bytes` is due. */
  outweighs(bytes: number): boolean {
    return this.#wanted || this.#bytes > bytes || this.#runs >= TRACKING_RUNS_MAX;
  }

  snapshotTaken(): void {
    this.#bytes = 0;
    this.#runs = 0;
    this.#wanted = false;
  }
}
