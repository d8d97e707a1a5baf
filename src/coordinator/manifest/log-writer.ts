/** Appends batches of events to a log: one block, one write and one sync each. */
import type { FileHandle } from '../../base/file-system.ts';
import { writeWhole } from '../../base/whole-file.ts';
import type { StateEvent } from '../state/event.ts';
import { BlockWriter, type ChainEnd, type FileIdentity } from './block-writer.ts';
import { stateEvent } from './event-codec.ts';

export class LogWriter {
  readonly #handle: FileHandle;
  readonly #blocks: BlockWriter;
  #durableBytes: number;

  /** `end` is behind the last block that is durable. */
  constructor(handle: FileHandle, identity: FileIdentity, end: ChainEnd) {
    this.#handle = handle;
    this.#blocks = new BlockWriter(identity, end);
    this.#durableBytes = end.position;
  }

  get path(): string {
    return this.#handle.path;
  }

  /** Bytes of the file that are certainly on the disk. */
  get durableBytes(): number {
    return this.#durableBytes;
  }

  /** Behind the last batch that was written. */
  get end(): ChainEnd {
    return this.#blocks.end;
  }

  /** Bytes that the batch takes so far. */
  get pendingBytes(): number {
    return this.#blocks.payload.length;
  }

  /** Starts a batch: the time comes first. */
  begin(now: number): void {
    this.#blocks.payload.reset();
    this.#blocks.payload.unsigned(now);
  }

  add(event: StateEvent): void {
    stateEvent.write(this.#blocks.payload, event);
  }

  /** Makes the batch durable. After an error nothing is known, and the log takes no other batch. */
  async append(): Promise<void> {
    const { position } = this.#blocks.end;
    await writeWhole(this.#handle, this.#blocks.seal(), position);
    await this.#handle.sync();
    this.#durableBytes = this.#blocks.end.position;
    this.#blocks.payload.reset();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}
