/** Seals payloads into blocks, each chained to the one before. */
import { assert } from '../../base/assert.ts';
import { viewOf, writeUint64 } from '../../base/bytes.ts';
import { xxh64 } from '../../codec/checksum.ts';
import { ByteWriter } from './byte-writer.ts';
import {
  BLOCK_CHECKED_FROM,
  BLOCK_FIELD,
  BLOCK_FLAG,
  BLOCK_HEADER_BYTES,
  BLOCK_MAGIC,
  BLOCK_PAYLOAD_BYTES_MAX,
  BLOCK_VERSION,
  blockBytes,
  blockSeed,
  STORE_ID_BYTES,
  type BlockKind,
} from './format.ts';

/** What stays the same for all blocks of a file. */
export interface FileIdentity {
  readonly kind: BlockKind;
  readonly storeId: Uint8Array;
  readonly fileNumber: number;
}

/** Where the next block goes. */
export interface ChainEnd {
  readonly sequence: number;
  /** Checksum of the block before. */
  readonly previous: bigint;
  readonly position: number;
}

export class BlockWriter {
  /** The payload of the next block is written here. */
  readonly payload: ByteWriter = new ByteWriter(BLOCK_HEADER_BYTES);
  readonly #identity: FileIdentity;
  #end: ChainEnd;

  constructor(identity: FileIdentity, end: ChainEnd) {
    assert(identity.storeId.length === STORE_ID_BYTES, 'a store id has 16 bytes');
    this.#identity = identity;
    this.#end = end;
  }

  /** Behind the last sealed block. */
  get end(): ChainEnd {
    return this.#end;
  }

  /** Seals what `payload` holds. The returned bytes are valid until the payload is written or reset. */
  seal(last = false): Uint8Array {
    const { kind, storeId, fileNumber } = this.#identity;
    const { sequence, previous, position } = this.#end;
    const payloadBytes = this.payload.length;
    assert(payloadBytes <= BLOCK_PAYLOAD_BYTES_MAX, 'a payload fits a block');
    const bytes = this.payload.take(blockBytes(payloadBytes) - BLOCK_HEADER_BYTES - payloadBytes);
    const view = viewOf(bytes);
    view.setUint32(BLOCK_FIELD.magic, BLOCK_MAGIC, true);
    view.setUint16(BLOCK_FIELD.version, BLOCK_VERSION, true);
    view.setUint16(BLOCK_FIELD.kind, kind, true);
    bytes.set(storeId, BLOCK_FIELD.storeId);
    writeUint64(view, BLOCK_FIELD.fileNumber, fileNumber);
    writeUint64(view, BLOCK_FIELD.sequence, sequence);
    view.setBigUint64(BLOCK_FIELD.previous, previous, true);
    view.setUint32(BLOCK_FIELD.payloadBytes, payloadBytes, true);
    view.setUint32(BLOCK_FIELD.flags, last ? BLOCK_FLAG.last : 0, true);
    const checked = bytes.subarray(BLOCK_CHECKED_FROM, BLOCK_HEADER_BYTES + payloadBytes);
    const checksum = xxh64(checked, blockSeed(position));
    view.setBigUint64(BLOCK_FIELD.checksum, checksum, true);
    this.#end = { sequence: sequence + 1, previous: checksum, position: position + bytes.length };
    return bytes;
  }
}
