/**
 * Where everything of a job goes: which input runs become one, in which output, with which offsets. Made by
 * `layout-planner.ts`, followed to the letter by the executor; plain data that survives `postMessage`.
 */
import type { FoundRun, RunReference } from '../coordinator/coordinator.ts';
import type { Compression } from '../record/stream-config.ts';

/** An input run as the executor reads it. */
export interface LayoutParent extends RunReference {
  readonly byteLength: number;
  readonly chunks: number;
  readonly records: number;
  readonly firstOffset: number;
  readonly nextOffset: number;
  /** Records from here on were truncated. */
  readonly endOffset: number;
  /** It holds tracking that is still needed. */
  readonly tracking: boolean;
}

export interface LayoutRun {
  readonly streamId: number;
  readonly firstOffset: number;
  readonly nextOffset: number;
  /** Records below are gone, also where the run has to cover them. */
  readonly visibleFrom: number;
  readonly compression: Compression;
  /** The tracking of its parents is all that the stream has up to here: it becomes a snapshot. */
  readonly snapshot: boolean;
  /**
   * `latest`: records that a later one of the job replaces are left out. `complete`: the run is also part of the
   * stream's unbroken beginning in this job, so that old tombstones have nothing left to hide.
   */
  readonly keys: 'all' | 'latest' | 'complete';
  /** In the order of offsets. */
  readonly parents: readonly LayoutParent[];
}

export interface LayoutOutput {
  readonly generation: number;
  /** By stream and offset. */
  readonly runs: readonly LayoutRun[];
}

export interface Layout {
  readonly outputs: readonly LayoutOutput[];
  /** Runs that cover nothing readable and hold no needed tracking. */
  readonly dropped: readonly RunReference[];
}

/** An input run with what decides its place. */
export interface PlacedParent {
  readonly run: FoundRun;
  /** Of its object. */
  readonly generation: number;
  readonly className: string;
  readonly keys: LayoutRun['keys'];
}

/** One stream's input runs. */
export interface StreamParents {
  readonly streamId: number;
  readonly compression: Compression;
  /** Log start. */
  readonly firstOffset: number;
  readonly parents: readonly PlacedParent[];
}
