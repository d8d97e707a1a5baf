/**
 * Codecs by their id on disk. Compression always goes through here, so that no claimed size is believed before it has
 * been held against what the stored bytes can possibly hold.
 */
import { compressLz4Block, decompressLz4Block } from '../../wasm/lz4.ts';
import { MillraceError } from '../errors/millrace-error.ts';
import { CHUNK_RAW_BYTES_MAX } from '../limits/limits.ts';

/** Codec ids on disk. An id is never given a second meaning. */
export const CODEC = {
  /** Bytes as they are. */
  none: 0,
  /** One LZ4 block (not the LZ4 frame format), without a size in front: every format stores the raw length itself. */
  lz4: 1,
} as const;
export type Codec = (typeof CODEC)[keyof typeof CODEC];

/** No LZ4 block expands further: each length byte adds at most 255. The constant covers what a token alone yields. */
const LZ4_EXPANSION_MAX = 255;
const LZ4_EXPANSION_EXTRA = 64;

export function isCodec(value: number): value is Codec {
  return value === CODEC.none || value === CODEC.lz4;
}

/**
 * Compresses `bytes`, which may be a view of shared memory. The result may be as large as the input or larger: the
 * caller then stores the input with `CODEC.none`. It is a view that the next call of this module overwrites: copy it
 * where it belongs at once.
 */
export function compress(codec: Codec, bytes: Uint8Array): Uint8Array {
  if (codec === CODEC.none) return bytes;
  try {
    return compressLz4Block(bytes);
  } catch (cause) {
    const message = `LZ4 failed to compress ${bytes.length} bytes; the process may be out of memory`;
    throw new MillraceError('ERR_MILLRACE_WRITE_FAILED', message, { details: { bytes: bytes.length }, cause });
  }
}

/**
 * Restores exactly `rawBytes` from `bytes`, which may be a view of shared memory. With `CODEC.none` the result is
 * `bytes` itself; otherwise it lies in `target` where that is given and large enough, and else in a new array. A caller
 * that keeps no result reuses a target: the first touch of new memory costs almost as much as LZ4.
 *
 * Throws `ERR_MILLRACE_SEGMENT_CORRUPT` when the bytes cannot hold what they claim, before anything of the claimed size
 * is allocated.
 */
export function decompress(codec: Codec, bytes: Uint8Array, rawBytes: number, target?: Uint8Array): Uint8Array {
  const output = decompressForNow(codec, bytes, rawBytes);
  return output === bytes ? bytes : copyOut(output, target);
}

/** The same without a copy of the result: it is a view that the next call of this module may overwrite. */
export function decompressForNow(codec: Codec, bytes: Uint8Array, rawBytes: number): Uint8Array {
  if (!Number.isInteger(rawBytes) || rawBytes < 0 || rawBytes > CHUNK_RAW_BYTES_MAX) {
    throw corrupt(codec, bytes, rawBytes, `no chunk is larger than ${CHUNK_RAW_BYTES_MAX} bytes`);
  }
  if (codec === CODEC.none) {
    if (bytes.length !== rawBytes) throw corrupt(codec, bytes, rawBytes, 'uncompressed bytes keep their length');
    return bytes;
  }
  if (rawBytes > bytes.length * LZ4_EXPANSION_MAX + LZ4_EXPANSION_EXTRA) {
    throw corrupt(codec, bytes, rawBytes, 'LZ4 cannot expand that far');
  }
  let output: Uint8Array | undefined;
  let cause: unknown;
  try {
    output = decompressLz4Block(bytes, rawBytes);
  } catch (error) {
    cause = error;
  }
  if (output === undefined) throw corrupt(codec, bytes, rawBytes, 'the LZ4 block is malformed', cause);
  return output;
}

/** New memory is not taken from Node's pool, all of which would stay alive with every chunk that a reader keeps. */
function copyOut(view: Uint8Array, target: Uint8Array | undefined): Uint8Array {
  const fits = target !== undefined && target.length >= view.length;
  const copy = fits ? target.subarray(0, view.length) : Buffer.allocUnsafeSlow(view.length);
  copy.set(view);
  return copy;
}

function corrupt(codec: Codec, bytes: Uint8Array, rawBytes: number, why: string, cause?: unknown): MillraceError {
  const message = `${bytes.length} stored bytes (codec ${codec}) do not yield the claimed ${rawBytes} bytes: ${why}`;
  const details = { codec, storedBytes: bytes.length, rawBytes };
  return new MillraceError('ERR_MILLRACE_SEGMENT_CORRUPT', message, { details, cause });
}
