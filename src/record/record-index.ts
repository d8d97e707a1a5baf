/** Where each record of a batch lies: decoded once, shared by all batches cut from the same frames. */
export interface RecordIndex {
  readonly bytes: Buffer;
  readonly view: DataView;
  readonly fields: RecordFields;
}

/** By number of the record. May be longer than the batch. */
export interface RecordFields {
  /** Index of each record's header in the bytes. */
  readonly positions: Uint32Array;
  readonly offsets: Float64Array;
  readonly timestamps: Float64Array;
  readonly epochs: Uint32Array;
  readonly headerBytes: Uint8Array;
}

const BYTES_PER_RECORD = 25;

/** In one piece of memory: five would be five for the garbage collector to keep track of. */
export function allocateFields(capacity: number): RecordFields {
  const memory = new ArrayBuffer(capacity * BYTES_PER_RECORD);
  return {
    offsets: new Float64Array(memory, 0, capacity),
    timestamps: new Float64Array(memory, capacity * 8, capacity),
    positions: new Uint32Array(memory, capacity * 16, capacity),
    epochs: new Uint32Array(memory, capacity * 20, capacity),
    headerBytes: new Uint8Array(memory, capacity * 24, capacity),
  };
}

/** What one batch is decoded into after the other: each overwrites the one before. */
export class BatchMemory {
  #body: Uint8Array = new Uint8Array(0);
  #fields: RecordFields = allocateFields(0);

  /** Room for `bytes` of frames. */
  body(bytes: number): Uint8Array {
    if (this.#body.length < bytes) this.#body = Buffer.allocUnsafeSlow(bytes);
    return this.#body;
  }

  fields(capacity: number): RecordFields {
    if (this.#fields.offsets.length < capacity) this.#fields = allocateFields(capacity);
    return this.#fields;
  }
}
