/**
 * What a store tells while it works, on channels of `node:diagnostics_channel` and to those who listen to its events. A
 * message is made only where somebody hears it; without, telling costs two comparisons. See `docs/diagnostics.md`.
 */
import { channel } from 'node:diagnostics_channel';

/** `millrace:append`: a block of appends went to the WAL, or into the slot that becomes an object. */
export interface AppendMessage {
  /** 32 hexadecimal digits. */
  readonly storeId: string;
  /** Of the block, from 0 in each lane. */
  readonly blockSequence: number;
}

/** `millrace:flush`: a segment was committed. */
export interface FlushMessage {
  /** 32 hexadecimal digits. */
  readonly storeId: string;
  /** Name of the segment in the object store. */
  readonly objectKey: string;
  /** Streams with records in it. */
  readonly runs: number;
  /** User records in it. */
  readonly records: number;
  /** Size of the segment. */
  readonly bytes: number;
  /** Milliseconds from the start of the job that wrote it to its commit. */
  readonly duration: number;
}

/** `millrace:compaction`: a job was committed. */
export interface CompactionMessage {
  /** 32 hexadecimal digits. */
  readonly storeId: string;
  /** `merge`, `rewrite`, `keyCompaction` or `chunkCompaction`. */
  readonly kind: string;
  /** Objects read. */
  readonly inputs: number;
  /** Objects written. */
  readonly outputs: number;
  /** Bytes read from the inputs. */
  readonly readBytes: number;
  /** Bytes of the outputs. */
  readonly writtenBytes: number;
  /** User records that are in no output: trimmed ones, and those that a later one of their key replaces. */
  readonly recordsDropped: number;
  /** Milliseconds that it took. */
  readonly duration: number;
}

/** `millrace:recovery`: opening has recovered a store. */
export interface RecoveryMessage {
  /** 32 hexadecimal digits. */
  readonly storeId: string;
  /** User records found in the log that were in no segment. */
  readonly records: number;
  /** Blocks that held them. */
  readonly blocks: number;
  /** Damaged places that were passed over: 0 unless the store was opened to salvage it. */
  readonly damages: number;
}

/** `millrace:trim`: the log start of a stream moved, by retention or by hand. */
export interface TrimMessage {
  /** 32 hexadecimal digits. */
  readonly storeId: string;
  /** Name of the stream. */
  readonly stream: string;
  /** Its log start now: the records below are gone. */
  readonly firstOffset: number;
}

/** `millrace:error`: a store takes no appends any more, or an attempt of a job failed. */
export interface ErrorMessage {
  /** 32 hexadecimal digits. */
  readonly storeId: string;
  /** `writer`: no more appends until the store is opened again. `compaction`: the attempt is repeated later. */
  readonly where: 'writer' | 'compaction';
  /** A `MillraceError`, but for mistakes of programming. */
  readonly error: unknown;
}

/** What is told, by the name of its channel. */
export interface Messages {
  append: AppendMessage;
  flush: FlushMessage;
  compaction: CompactionMessage;
  recovery: RecoveryMessage;
  trim: TrimMessage;
  error: ErrorMessage;
}

/** Those who listen get `Message`s. */
export interface MessageChannel<Message> {
  readonly hasSubscribers: boolean;
  publish(message: Message): void;
}

const channels: { readonly [Name in keyof Messages]: MessageChannel<Messages[Name]> } = {
  append: channel('millrace:append'),
  flush: channel('millrace:flush'),
  compaction: channel('millrace:compaction'),
  recovery: channel('millrace:recovery'),
  trim: channel('millrace:trim'),
  error: channel('millrace:error'),
};

/** Hears one store's messages, beside the channels. */
export interface Listener {
  hears(name: keyof Messages): boolean;
  tell<Name extends keyof Messages>(name: Name, message: Messages[Name]): void;
}

/** Tells what one store does. */
export class Announcer {
  readonly #storeId: string;
  /** The store's own events; set once it is open. */
  listener: Listener | undefined;

  constructor(storeId: Uint8Array) {
    this.#storeId = Buffer.from(storeId).toString('hex');
  }

  /** Whether anybody hears it: a message that costs something to make need not be made. */
  isHeard(name: keyof Messages): boolean {
    return channels[name].hasSubscribers || this.listener?.hears(name) === true;
  }

  /** `facts` are asked for only when somebody listens. */
  tell<Name extends keyof Messages>(name: Name, facts: () => Omit<Messages[Name], 'storeId'>): void {
    if (!this.isHeard(name)) return;
    const message = { storeId: this.#storeId, ...facts() } as Messages[Name];
    if (channels[name].hasSubscribers) channels[name].publish(message);
    if (this.listener?.hears(name) === true) this.listener.tell(name, message);
  }
}
