/**
 * Reads one input object forward in a single request, whatever its size. Of its bytes only the run at hand is in
 * memory: what lies further on stays in the connection until it is asked for.
 */
import { assert, required } from '../base/assert.ts';
import type { SpareMemory } from '../base/spare-memory.ts';
import { MIB } from '../limits/limits.ts';
import type { StreamRead } from '../object/object-store.ts';
import type { SegmentSource } from '../segment/source.ts';
import { segmentCorrupt } from '../segment/errors.ts';
import { STREAM_READ_BYTES } from './job-memory.ts';

/** Dead bytes up to here are read and let go; beyond, another request costs less than the time they take. */
const SKIP_BYTES_MAX: number = 8 * MIB;

export interface InputStreamOptions {
  readonly key: string;
  readonly size: number;
  /** One past the last byte that is needed. */
  readonly end: number;
  readonly stream: StreamRead;
  /** Memory of pieces, shared by all streams of a job. */
  readonly spare: SpareMemory;
}

export class InputStream implements SegmentSource {
  readonly size: number;
  readonly #options: InputStreamOptions;
  /** Two, for the piece that is looked at and the next one. */
  readonly #memory: Uint8Array[];
  #pieces: AsyncGenerator<Uint8Array, void, void> | undefined;
  /** The first piece, sent for before it is needed. */
  #first: Promise<IteratorResult<Uint8Array, void>> | undefined;
  /** What came and was not asked for yet, and where it lies in the object. */
  #rest: Uint8Array = new Uint8Array(0);
  #at = 0;
  #busy = false;

  constructor(options: InputStreamOptions) {
    this.#options = options;
    const { spare } = options;
    this.#memory = [0, 1].map(() => spare.buffer(STREAM_READ_BYTES));
    this.size = options.size;
  }

  /** Sends the request, so that many inputs begin at once. */
  begin(position: number): void {
    this.#open(position);
    this.#first = this.#pieces?.next();
    // It is noticed by whoever reads.
    this.#first?.catch(() => undefined);
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    assert(!this.#busy && length <= STREAM_READ_BYTES, 'pieces of a stream come one after the other');
    this.#busy = true;
    try {
      await this.#moveTo(position);
      const bytes = required(this.#memory[0], 'there are two').subarray(0, length);
      this.#memory.reverse();
      await this.#fill(bytes);
      if (this.#at === this.#options.end) this.#finish();
      return bytes;
    } finally {
      this.#busy = false;
    }
  }

  /** Ends the request, wherever it is. What was read is not valid any more. */
  close(): void {
    this.#end();
    for (const piece of this.#memory.splice(0)) this.#options.spare.recycle(piece);
  }

  #end(): void {
    const pieces = this.#pieces;
    this.#pieces = undefined;
    this.#first = undefined;
    void pieces?.return().catch(() => undefined);
  }

  #open(position: number): void {
    this.#end();
    const { key, end, stream } = this.#options;
    this.#pieces = stream(key, position, end - position);
    this.#rest = this.#rest.subarray(0, 0);
    this.#at = position;
  }

  /** Lets the connection see the end, so that it is used again. */
  #finish(): void {
    void this.#pieces?.next().catch(() => undefined);
    this.#pieces = undefined;
  }

  async #moveTo(position: number): Promise<void> {
    const gap = position - this.#at;
    if (this.#pieces === undefined || gap > SKIP_BYTES_MAX) this.#open(position);
    assert(this.#at <= position, 'a stream is read forward');
    while (this.#at < position) {
      if (this.#rest.length === 0) await this.#advance();
      this.#take(Math.min(this.#rest.length, position - this.#at));
    }
  }

  async #fill(target: Uint8Array): Promise<void> {
    for (let filled = 0; filled < target.length;) {
      if (this.#rest.length === 0) await this.#advance();
      const count = Math.min(this.#rest.length, target.length - filled);
      target.set(this.#rest.subarray(0, count), filled);
      this.#take(count);
      filled += count;
    }
  }

  #take(count: number): void {
    this.#rest = this.#rest.subarray(count);
    this.#at += count;
  }

  async #advance(): Promise<void> {
    const step = await (this.#first ?? this.#pieces?.next());
    this.#first = undefined;
    if (step?.done !== false) throw segmentCorrupt(this.#options.key, this.#at, 'the object store ended a range early');
    this.#rest = step.value;
  }
}
