/** The events of a store: what its channels tell, for a program that holds the store itself. */
import type { EventEmitter } from 'node:events';
import type {
  Announcer,
  CompactionMessage,
  ErrorMessage,
  FlushMessage,
  Messages,
  TrimMessage,
} from '../base/channels.ts';

/**
 * What a store emits, and with which arguments. None is named `error`, which ends a program that does not listen: what
 * went wrong is also the rejection of the call that asked for it.
 */
export interface StoreEvents {
  /** A segment was committed: what is in it is gone from the log. */
  flush: [message: FlushMessage];
  /** A compaction job was committed. */
  compaction: [message: CompactionMessage];
  /** The log start of a stream moved, by retention or by hand. */
  trim: [message: TrimMessage];
  /**
   * A write failed: appends are refused until the store is opened again, reads go on. Once at most. The error is the
   * `MillraceError` that appends are refused with.
   */
  failed: [error: unknown];
  /** An attempt of a compaction job failed, or to find one. It is repeated later; nothing is lost meanwhile. */
  compactionFailed: [error: unknown];
  /** Closed, and everything it held is released. */
  close: [];
}

/** The event that tells of a message; those that are told before anybody can hold the store have none. */
const EVENTS: { readonly [Name in keyof Messages]?: keyof StoreEvents } = {
  flush: 'flush',
  compaction: 'compaction',
  trim: 'trim',
};

/** Makes `emitter` emit what the store's parts tell. */
export function emitMessages(emitter: EventEmitter<StoreEvents>, announcer: Announcer): void {
  announcer.listener = {
    hears: (name) =>
      name === 'error'
        ? emitter.listenerCount('failed') + emitter.listenerCount('compactionFailed') > 0
        : emitter.listenerCount(EVENTS[name] ?? '') > 0,
    tell: (name, message) => {
      const event = name === 'error' ? failureEvent(message as ErrorMessage) : EVENTS[name];
      const argument = name === 'error' ? (message as ErrorMessage).error : message;
      if (event !== undefined) emitLater(emitter, event, argument);
    },
  };
}

function failureEvent({ where }: ErrorMessage): keyof StoreEvents {
  return where === 'writer' ? 'failed' : 'compactionFailed';
}

/** Not within the engine's own turn: what a listener throws must not pass for a failure of the engine. */
export function emitLater(emitter: EventEmitter<StoreEvents>, event: keyof StoreEvents, ...args: unknown[]): void {
  process.nextTick(() => {
    (emitter as EventEmitter).emit(event, ...args);
  });
}
