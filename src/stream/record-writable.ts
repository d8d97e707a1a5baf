/** A stream as a `Writable` of records. */
import { Writable } from 'node:stream';
import { MIB } from '../limits/limits.ts';
import { isBareValue, type RecordInput, valueRoom } from '../record/record-input.ts';

/** Values that it holds while a call of `appendMany` is under way, and their bytes: chunks of a file are large. */
const VALUES_MAX = 4_096;
const BYTES_MAX: number = 4 * MIB;

type Done = (error?: Error | null) => void;

export class RecordWritable extends Writable {
  #waitingBytes = 0;
  #wantsDrain = false;

  constructor(appendMany: (records: readonly RecordInput[]) => Promise<unknown>) {
    const append = (records: readonly RecordInput[], done: Done): void => {
      appendMany(records).then(() => {
        this.#settle(records);
        done();
      }, done);
    };
    super({
      objectMode: true,
      highWaterMark: VALUES_MAX,
      write: (record: RecordInput, _encoding, done) => append([record], done),
      writev: (chunks, done) => {
        append(
          chunks.map(({ chunk }) => chunk as RecordInput),
          done,
        );
      },
    });
  }

  /** Node counts values alone, and asks for no pause before there are many: large ones would fill the memory. */
  override write(record: unknown, encoding?: unknown, done?: unknown): boolean {
    this.#waitingBytes += roomOf(record as RecordInput);
    const goesOn = super.write(record, encoding as BufferEncoding, done as Done);
    if (!goesOn || this.#waitingBytes < BYTES_MAX) return goesOn;
    this.#wantsDrain = true;
    return false;
  }

  #settle(records: readonly RecordInput[]): void {
    for (const record of records) this.#waitingBytes -= roomOf(record);
    if (!this.#wantsDrain || this.#waitingBytes >= BYTES_MAX) return;
    this.#wantsDrain = false;
    if (!this.writableNeedDrain) this.emit('drain');
  }
}

/** 0 for what is no record: the append says so. */
function roomOf(record: RecordInput): number {
  if (typeof record !== 'object' || record === null || isBareValue(record)) {
    return typeof record === 'string' || record instanceof Uint8Array ? valueRoom(record) : 0;
  }
  const { value } = record;
  return typeof value === 'string' || value instanceof Uint8Array ? valueRoom(value) : 0;
}
