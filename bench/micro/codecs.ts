/** Checksum and compression, on what they are used on: frames of JSON records. */
import { xxh64 } from '../../src/codec/checksum.ts';
import { CODEC, compress, decompress } from '../../src/codec/compression.ts';
import { CHUNK_RAW_BYTES_TARGET, MIB } from '../../src/limits/limits.ts';
import { recordPool } from '../../src/cli/load/records.ts';
import type { Workload } from '../workload.ts';
import { micro } from './micro.ts';

/** JSON records, one behind the other. */
export function sampleBytes(bytes: number): Uint8Array {
  return new Uint8Array(Buffer.concat(recordPool(1_024)).subarray(0, bytes));
}

export const checksum: Workload = micro({
  name: 'checksum',
  what: 'XXH64 of 1 MiB',
  floor: 'copies 1 MiB',
  amount: { bytes: MIB },
  prepare: () => {
    const bytes = sampleBytes(MIB);
    return { millrace: () => xxh64(bytes), floor: copier(bytes) };
  },
});

export const compression: Workload = micro({
  name: 'compress',
  what: 'compresses 64 KiB with LZ4',
  floor: 'copies 64 KiB',
  amount: { bytes: CHUNK_RAW_BYTES_TARGET },
  prepare: () => {
    const bytes = sampleBytes(CHUNK_RAW_BYTES_TARGET);
    return { millrace: () => compress(CODEC.lz4, bytes), floor: copier(bytes) };
  },
});

export const decompression: Workload = micro({
  name: 'decompress',
  what: 'decompresses 64 KiB with LZ4, into memory that is reused',
  floor: 'copies 64 KiB',
  amount: { bytes: CHUNK_RAW_BYTES_TARGET },
  prepare: () => {
    const bytes = sampleBytes(CHUNK_RAW_BYTES_TARGET);
    const compressed = compress(CODEC.lz4, bytes).slice();
    const target = new Uint8Array(bytes.length);
    return { millrace: () => decompress(CODEC.lz4, compressed, bytes.length, target), floor: copier(bytes) };
  },
});

function copier(bytes: Uint8Array): () => void {
  const target = new Uint8Array(bytes.length);
  return () => {
    target.set(bytes);
  };
}
