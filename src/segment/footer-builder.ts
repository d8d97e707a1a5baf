/** Collects a segment's run table and chunk index in the bytes they will have in the footer: no object per chunk. */
import { assert } from '../base/assert.ts';
import { viewOf, writeInt64, writeUint64 } from '../base/bytes.ts';
import { SEGMENT_CHUNKS_MAX, SEGMENT_RUNS_MAX } from '../limits/limits.ts';
import {
  FOOTER_FIELD,
  FOOTER_HEADER_BYTES,
  FOOTER_MAGIC,
  type FooterRun,
  INDEX_ENTRY_BYTES,
  INDEX_FIELD,
  objectKeyHash,
  RUN_BYTES,
  SEGMENT_VERSION,
  type SegmentFacts,
} from './format.ts';
import { readRun, writeRun } from './run-entry.ts';

const FIRST_CAPACITY = 64;

/** Entries of one size, in one array that doubles. */
class EntryTable {
  readonly #entryBytes: number;
  #bytes: Uint8Array;
  #view: DataView;
  #count = 0;

  constructor(entryBytes: number) {
    this.#entryBytes = entryBytes;
    this.#bytes = new Uint8Array(FIRST_CAPACITY * entryBytes);
    this.#view = viewOf(this.#bytes);
  }

  get count(): number {
    return this.#count;
  }

  /** The view that holds the entries; another one after the next `add`. */
  get view(): DataView {
    return this.#view;
  }

  /** Appends a zeroed entry and returns its position in `view`. */
  add(): number {
    const at = this.#count * this.#entryBytes;
    if (at === this.#bytes.length) {
      const larger = new Uint8Array(this.#bytes.length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = viewOf(larger);
    }
    this.#count += 1;
    return at;
  }

  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#count * this.#entryBytes);
  }
}

export class FooterBuilder {
  readonly #runs: EntryTable = new EntryTable(RUN_BYTES);
  readonly #chunks: EntryTable = new EntryTable(INDEX_ENTRY_BYTES);

  get runs(): number {
    return this.#runs.count;
  }

  get chunks(): number {
    return this.#chunks.count;
  }

  /** Bytes of the footer as it is now, without the tail. */
  get bytes(): number {
    return FOOTER_HEADER_BYTES + this.runs * RUN_BYTES + this.chunks * INDEX_ENTRY_BYTES;
  }

  addChunk(position: number, firstOffset: number, latestTimestamp: number, checksum: bigint): void {
    assert(this.chunks < SEGMENT_CHUNKS_MAX, 'a segment is closed before it holds too many chunks');
    const at = this.#chunks.add();
    const view = this.#chunks.view;
    writeUint64(view, at + INDEX_FIELD.position, position);
    writeUint64(view, at + INDEX_FIELD.firstOffset, firstOffset);
    writeInt64(view, at + INDEX_FIELD.latestTimestamp, latestTimestamp);
    view.setBigUint64(at + INDEX_FIELD.checksum, checksum, true);
  }

  addRun(run: FooterRun): void {
    assert(this.runs < SEGMENT_RUNS_MAX, 'a segment is closed before it holds too many runs');
    const at = this.#runs.add();
    writeRun(this.#runs.view, at, run);
  }

  /** Every run so far, in order. */
  *listRuns(): Generator<FooterRun> {
    for (let index = 0; index < this.runs; index += 1) yield readRun(this.#runs.view, index * RUN_BYTES);
  }

  /** The footer in pieces, to be written one after the other. */
  build(facts: SegmentFacts, runsEnd: number): Uint8Array[] {
    const header = new Uint8Array(FOOTER_HEADER_BYTES);
    const view = viewOf(header);
    view.setUint32(FOOTER_FIELD.magic, FOOTER_MAGIC, true);
    view.setUint16(FOOTER_FIELD.version, SEGMENT_VERSION, true);
    header.set(facts.storeId, FOOTER_FIELD.storeId);
    view.setBigUint64(FOOTER_FIELD.objectKeyHash, objectKeyHash(facts.objectKey), true);
    writeInt64(view, FOOTER_FIELD.createdAt, facts.createdAt);
    view.setUint32(FOOTER_FIELD.runs, this.runs, true);
    view.setUint32(FOOTER_FIELD.chunks, this.chunks, true);
    writeUint64(view, FOOTER_FIELD.runsEnd, runsEnd);
    return [header, this.#runs.bytes(), this.#chunks.bytes()];
  }
}
