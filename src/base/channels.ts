/**
 * Channels of `node:diagnostics_channel`, for tracing and logs. A message is made only where somebody subscribes;
 * without, a channel costs one comparison. See `docs/diagnostics.md`.
 */
import { channel } from 'node:diagnostics_channel';

/** `millrace:append`: a block of appends went to the WAL, or into the slot that becomes an object. */
export interface AppendMessage {
  readonly storeId: string;
  readonly blockSequence: number;
}

/** `millrace:flush`: a segment was committed. */
export interface FlushMessage {
  readonly storeId: string;
  readonly objectKey: string;
  readonly runs: number;
  readonly records: number;
  readonly bytes: number;
}

/** `millrace:compaction`: a job was committed. */
export interface CompactionMessage {
  readonly storeId: string;
  readonly kind: string;
  readonly inputs: number;
  readonly outputs: number;
  readonly readBytes: number;
  readonly writtenBytes: number;
  readonly recordsDropped: number;
  /** Milliseconds that it took. */
  readonly duration: number;
}

/** `millrace:recovery`: opening has recovered a store. */
export interface RecoveryMessage {
  readonly storeId: string;
  readonly records: number;
  readonly blocks: number;
  readonly damages: number;
}

/** `millrace:error`: a store takes no appends any more, or an attempt of a job failed. */
export interface ErrorMessage {
  readonly storeId: string;
  readonly where: 'writer' | 'compaction';
  readonly error: unknown;
}

/** Those who listen get `Message`s. */
export interface MessageChannel<Message> {
  readonly hasSubscribers: boolean;
  publish(message: Message): void;
}

const error: MessageChannel<ErrorMessage> = channel('millrace:error');

export const channels: {
  readonly append: MessageChannel<AppendMessage>;
  readonly flush: MessageChannel<FlushMessage>;
  readonly compaction: MessageChannel<CompactionMessage>;
  readonly recovery: MessageChannel<RecoveryMessage>;
  readonly error: MessageChannel<ErrorMessage>;
} = {
  append: channel('millrace:append'),
  flush: channel('millrace:flush'),
  compaction: channel('millrace:compaction'),
  recovery: channel('millrace:recovery'),
  error,
};

export function storeIdText(storeId: Uint8Array): string {
  return Buffer.from(storeId).toString('hex');
}

/** A store takes no appends any more. */
export function tellFailure(storeId: Uint8Array, cause: unknown): void {
  if (!error.hasSubscribers) return;
  error.publish({ storeId: storeIdText(storeId), where: 'writer', error: cause });
}
