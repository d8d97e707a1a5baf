/** Follows a log from block to block, and judges its tail. */
import type { FileHandle } from '../../base/file-system.ts';
import { advanceTime, apply } from '../state/apply.ts';
import type { StateEvent } from '../state/event.ts';
import type { State } from '../state/state.ts';
import { findLaterBlock, readBlock } from './block-reader.ts';
import type { ChainEnd, FileIdentity } from './block-writer.ts';
import { ByteReader, PayloadError } from './byte-reader.ts';
import { stateEvent } from './event-codec.ts';
import { contentFailure, corrupt } from './failures.ts';
import { FileWindow } from './file-window.ts';

export interface LogBatch {
  readonly now: number;
  readonly events: readonly StateEvent[];
}

export function readBatch(payload: Uint8Array): LogBatch {
  const reader = new ByteReader(payload);
  const now = reader.unsigned();
  const events: StateEvent[] = [];
  while (reader.remaining > 0) events.push(stateEvent.read(reader));
  return { now, events };
}

/** Applies a log to a state, as far as it goes and, later, as far as it has grown. */
export class LogReplay {
  readonly #handle: FileHandle;
  readonly #identity: FileIdentity;
  readonly #state: State;
  /** A place that the log certainly reached. */
  readonly #reached: ChainEnd | undefined;
  #end: ChainEnd;
  #lastBlock: number;
  #tornBytes = 0;

  constructor(handle: FileHandle, identity: FileIdentity, from: ChainEnd, state: State, reached?: ChainEnd) {
    this.#handle = handle;
    this.#reached = reached;
    this.#identity = identity;
    this.#state = state;
    this.#end = from;
    this.#lastBlock = from.position;
  }

  /** Behind the last sound block. */
  get end(): ChainEnd {
    return this.#end;
  }

  /** Where the last sound block begins. */
  get lastBlock(): number {
    return this.#lastBlock;
  }

  /** Bytes behind `end` that are no sound block. */
  get tornBytes(): number {
    return this.#tornBytes;
  }

  /**
   * Applies the blocks up to the end of the file or to `limit`. What follows the last sound block is taken as torn when
   * no sound block lies behind it, and is `ERR_MILLRACE_MANIFEST_CORRUPT` otherwise.
   */
  async advance(limit: number): Promise<void> {
    const window = new FileWindow(this.#handle, Math.min(this.#handle.sizeSync(), limit));
    for (;;) {
      const block = await readBlock(window, this.#identity, this.#end);
      if (block === undefined) break;
      this.#apply(block.payload);
      this.#lastBlock = this.#end.position;
      this.#end = block.end;
      this.#holdAgainstMark();
    }
    const { sequence, position } = this.#end;
    const later = await findLaterBlock(window, this.#identity, this.#end);
    if (later !== undefined) {
      throw corrupt(window.path, position, `block ${sequence} is not sound, and the one at ${later} is`);
    }
    this.#refuseCut();
    this.#tornBytes = Math.max(0, window.size - position);
  }

  /** Blocks are a chain: with the same one at the mark, all in front of it are the same. */
  #holdAgainstMark(): void {
    const { sequence, position, previous } = this.#end;
    if (this.#reached?.sequence !== sequence) return;
    if (this.#reached.position === position && this.#reached.previous === previous) return;
    const problem = `block ${sequence - 1} is not the one that was there when the store was closed`;
    throw corrupt(this.#handle.path, this.#lastBlock, problem);
  }

  #refuseCut(): void {
    const { sequence, position } = this.#end;
    if (this.#reached === undefined || this.#reached.sequence <= sequence) return;
    const problem = `the log ends here, and reached to ${this.#reached.position} when the store was closed`;
    throw corrupt(this.#handle.path, position, problem);
  }

  #apply(payload: Uint8Array): void {
    const state = this.#state;
    try {
      const { now, events } = readBatch(payload);
      if (now < state.now) throw new PayloadError(`time goes back from ${state.now} to ${now}`);
      advanceTime(state, now);
      for (const event of events) apply(state, event);
    } catch (error) {
      throw contentFailure(this.#handle.path, this.#end.position, error);
    }
  }
}
