/** What planners see: plain facts about committed objects, in the order of their commits. */
import { alignUp, PAGE_BYTES } from '../base/bytes.ts';
import {
  FOOTER_HEADER_BYTES,
  INDEX_ENTRY_BYTES,
  RUN_BYTES,
  SEGMENT_HEADER_BYTES,
  TAIL_BYTES,
} from '../segment/format.ts';

/** What an object holds of a stream whose keys are compacted. */
export interface KeyedPart {
  readonly streamId: number;
  /** Offsets from the first live run of the stream there to the last; other objects may hold some in between. */
  readonly firstOffset: number;
  readonly endOffset: number;
  readonly bytes: number;
  readonly records: number;
}

export interface ObjectFacts {
  readonly key: string;
  readonly bytes: number;
  readonly generation: number;
  readonly committedAt: number;
  /** Another job has it. */
  readonly claimed: boolean;
  /** Coordinator time by which a deletion deadline wants its dead bytes gone. */
  readonly rewriteBy: number | undefined;
  readonly liveRuns: number;
  readonly liveBytes: number;
  /** What it would take with nothing but its live runs: exactly its size as long as all of them live. */
  readonly cleanBytes: number;
  /** The class that holds most of its live bytes. */
  readonly className: string;
  /** Tracking of live runs that later snapshots replace. */
  readonly supersededBytes: number;
  readonly keyedParts: readonly KeyedPart[];
  /** Streams with live runs, ascending. */
  readonly streamIds: Uint32Array;
}

export interface CompactionView {
  /** Coordinator time of the view. */
  readonly now: number;
  /** By ascending time of commit. */
  readonly objects: readonly ObjectFacts[];
}

/** The size of an object that holds these runs and nothing else. */
export function cleanBytesOf(runBytes: number, runs: number, chunks: number): number {
  const footer = FOOTER_HEADER_BYTES + runs * RUN_BYTES + chunks * INDEX_ENTRY_BYTES + TAIL_BYTES;
  return alignUp(SEGMENT_HEADER_BYTES + runBytes + footer, PAGE_BYTES);
}

/** Share of an object that a rewrite would free. */
export function dirtyRatioOf(object: ObjectFacts): number {
  return Math.max(0, 1 - object.cleanBytes / object.bytes);
}

export function holdsStream(object: ObjectFacts, streamId: number): boolean {
  return object.streamIds.includes(streamId);
}
