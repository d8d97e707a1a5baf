/**
 * Where everything of a job goes: which input runs become one, in which output, with which offsets. Made by
 * `layout-planner.ts`, followed to the letter by the executor, which gets it by `layout-message.ts`.
 */
import type { FoundRun, RunReference } from '../coordinator/coordinator.ts';
import type { Compression } from '../record/stream-config.ts';

/** An input run as the executor reads it: what the coordinator says of it, or a part of that. */
export interface LayoutParent extends RunReference {
  readonly byteLength: number;
  readonly chunks: number;
  readonly records: number;
  readonly firstOffset: number;
  readonly nextOffset: number;
  /** Records from here on were truncated. */
  readonly endOffset: number;
  /** It holds tracking that is still needed. Default false. */
  readonly tracking?: boolean;
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

/** What the executor follows. */
export interface LayoutOutputs {
  readonly outputs: readonly LayoutOutput[];
}

export interface Layout extends LayoutOutputs {
  /** Runs that cover nothing readable and hold no needed tracking. */
  readonly dropped: readonly RunReference[];
}

/** The outputs of a layout as `layout-message.ts` makes them: plain data that survives `postMessage`. */
export interface PackedLayout {
  readonly outputs: readonly PackedOutput[];
  /** Of the inputs that the layout takes something of. */
  readonly objectKeys: readonly string[];
  /** Of all runs of all outputs, one output behind the other. */
  readonly runs: Float64Array;
  /** Of all parents of all runs, one run behind the other. */
  readonly parents: Float64Array;
}

export interface PackedOutput {
  readonly generation: number;
  /** How many, and the number of the first one. */
  readonly runs: number;
  readonly firstRun: number;
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
