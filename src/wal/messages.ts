/** Every message to and from the WAL worker. Types only: importing this runs nothing. */
import type { ErrorData } from '../errors/millrace-error.ts';
import type { LaneAssignment } from './writer.ts';

/** What the WAL worker is started with. */
export interface WalWorkerData {
  readonly directory: string;
  readonly doorbell: SharedArrayBuffer;
  readonly lanes: readonly LaneAssignment[];
}

/** To the WAL worker. It looks for messages whenever the doorbell wakes it. */
export type WalRequest =
  /** Serve one more lane. */
  | { readonly type: 'add-lane'; readonly lane: LaneAssignment }
  /** Write what is closed, then end. */
  | { readonly type: 'stop' };

/** From the WAL worker. */
export type WalReply =
  /** Slot files are open; `mode` says how writes become durable. */
  | { readonly type: 'ready'; readonly mode: 'direct' | 'buffered' }
  /** A write, a sync or the accounting failed: nothing more becomes durable. */
  | { readonly type: 'failed'; readonly error: ErrorData }
  /** Everything closed before `stop` is durable, and the files are closed. */
  | { readonly type: 'stopped' };
