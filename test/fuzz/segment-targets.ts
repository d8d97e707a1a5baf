/** Segments and their chunks, with checksums that hold. */
import assert from 'node:assert/strict';
import { viewOf } from '../../src/base/bytes.ts';
import { xxh64 } from '../../src/codec/checksum.ts';
import {
  CHUNK_CHECKED_FROM,
  CHUNK_FIELD,
  CHUNK_HEADER_BYTES,
  chunkBytes,
  CHUNK_TYPE,
} from '../../src/segment/chunk-format.ts';
import { chunkBody, chunkTracking, decodeChunk, type StoredChunk } from '../../src/segment/chunk-reader.ts';
import { streamChunks } from '../../src/segment/chunk-stream.ts';
import {
  FOOTER_FIELD,
  FOOTER_HEADER_BYTES,
  INDEX_ENTRY_BYTES,
  INDEX_FIELD,
  objectKeyHash,
  RUN_BYTES,
  RUN_FIELD,
  TAIL_BYTES,
  TAIL_FIELD,
} from '../../src/segment/format.ts';
import { SegmentReader } from '../../src/segment/reader.ts';
import { verifySegment } from '../../src/segment/verify.ts';
import { decodeTracking } from '../../src/record/tracking-format.ts';
import { goldenFile } from '../bits/golden-files.ts';
import { filesBelow, goldenPath } from '../golden/fixtures.ts';
import { MemorySource, repairFooter } from '../segment/fixture.ts';
import { type Field, fieldsAt } from './edits.ts';
import { frameFields, readAll } from './record-targets.ts';
import { decoded, decodedAsync, type Target } from './target.ts';

const OBJECT_KEY = 'a segment';
const EXPECTED = { storeId: 'any', objectKey: OBJECT_KEY } as const;

function segments(): Uint8Array[] {
  return ['clean', 'compacted', 'diskless'].flatMap((store) =>
    filesBelow(goldenPath(store))
      .filter((name) => name.endsWith('.seg'))
      .map((name) => goldenFile(store, name)),
  );
}

function footerPosition(bytes: Uint8Array): number {
  const tail = bytes.length - TAIL_BYTES;
  const position = tail < 0 ? 0 : viewOf(bytes).getUint32(tail + TAIL_FIELD.footerPosition, true);
  return Math.min(position, Math.max(0, tail));
}

/** Places of the chunks, as far as their lengths lead. */
function* chunkPlaces(bytes: Uint8Array, from: number, to: number): Generator<{ at: number; end: number }> {
  const view = viewOf(bytes);
  for (let at = from; at + CHUNK_HEADER_BYTES <= to;) {
    // Zeros fill up to the footer.
    if (view.getUint32(at + CHUNK_FIELD.magic, true) === 0) return;
    const stored = view.getUint32(at + CHUNK_FIELD.storedBytes, true);
    const end = at + chunkBytes(stored, view.getUint32(at + CHUNK_FIELD.trailerBytes, true));
    if (end > to || end <= at) return;
    yield { at, end };
    at = end;
  }
}

function repairChunkAt(bytes: Uint8Array, at: number, end: number, keyHash: bigint): bigint {
  const checksum = xxh64(bytes.subarray(at + CHUNK_CHECKED_FROM, end)) ^ keyHash;
  viewOf(bytes).setBigUint64(at + CHUNK_FIELD.checksum, checksum, true);
  return checksum;
}

function chunkFields(bytes: Uint8Array, at: number, end: number): Field[] {
  const header = fieldsAt(at, CHUNK_FIELD, CHUNK_HEADER_BYTES);
  // Half of the edits go to what the chunk holds.
  return [...header, ...frameFields(bytes, at + CHUNK_HEADER_BYTES, end).slice(0, header.length)];
}

/** All that a reader does with a chunk. */
function useChunk(chunk: StoredChunk): void {
  const body = decoded(() => chunkBody(chunk));
  if (body === undefined) return;
  assert.equal(body.length, chunk.header.rawBytes);
  if (chunk.header.type === CHUNK_TYPE.records) readAll(new Uint8Array(body), chunk.header.frameBase);
  decodeTracking(chunkTracking(chunk));
}

function chunkTarget(all: readonly Uint8Array[]): Target {
  const samples = all.flatMap((bytes) =>
    [...chunkPlaces(bytes, 64, footerPosition(bytes))].map(({ at, end }) => {
      const chunk = bytes.slice(at, end);
      repairChunkAt(chunk, 0, chunk.length, objectKeyHash(OBJECT_KEY));
      return chunk;
    }),
  );
  return {
    name: 'chunks',
    samples,
    fieldsOf: (bytes) => chunkFields(bytes, 0, bytes.length),
    repair: (bytes) => {
      if (bytes.length > CHUNK_CHECKED_FROM) repairChunkAt(bytes, 0, bytes.length, objectKeyHash(OBJECT_KEY));
    },
    run: (bytes) => {
      const chunk = decoded(() => decodeChunk(bytes, 0, { objectKey: OBJECT_KEY, position: 64 }));
      if (chunk === undefined) return;
      assert.equal(chunk.body.length, chunk.header.rawBytes);
      if (chunk.header.type === CHUNK_TYPE.records) readAll(new Uint8Array(chunk.body), chunk.header.frameBase);
      decodeTracking(chunk.trailer);
    },
  };
}

function footerFields(bytes: Uint8Array): Field[] {
  const at = footerPosition(bytes);
  const tail = bytes.length - TAIL_BYTES;
  const view = viewOf(bytes);
  if (tail < at + FOOTER_HEADER_BYTES) return [];
  const runs = Math.min(view.getUint32(at + FOOTER_FIELD.runs, true), 64);
  const fields = [...fieldsAt(at, FOOTER_FIELD, FOOTER_HEADER_BYTES), ...fieldsAt(tail, TAIL_FIELD, TAIL_BYTES)];
  for (let run = 0; run < runs; run += 1) {
    fields.push(...fieldsAt(at + FOOTER_HEADER_BYTES + run * RUN_BYTES, RUN_FIELD, RUN_BYTES));
  }
  for (let entry = at + FOOTER_HEADER_BYTES + runs * RUN_BYTES; entry + INDEX_ENTRY_BYTES <= tail;) {
    fields.push(...fieldsAt(entry, INDEX_FIELD, INDEX_ENTRY_BYTES));
    entry += INDEX_ENTRY_BYTES;
  }
  return fields;
}

/** Chunks, then their entries in the index, then the footer: everything is as if a writer had meant it. */
function repairSegment(bytes: Uint8Array): void {
  if (bytes.length < 64 + TAIL_BYTES) return;
  const footer = footerPosition(bytes);
  const tail = bytes.length - TAIL_BYTES;
  const view = viewOf(bytes);
  viewOf(bytes).setBigUint64(0, xxh64(bytes.subarray(8, 64)), true);
  if (footer + FOOTER_HEADER_BYTES <= tail) {
    const keyHash = view.getBigUint64(footer + FOOTER_FIELD.objectKeyHash, true);
    let entry = footer + FOOTER_HEADER_BYTES + view.getUint32(footer + FOOTER_FIELD.runs, true) * RUN_BYTES;
    for (const { at, end } of chunkPlaces(bytes, 64, footer)) {
      const checksum = repairChunkAt(bytes, at, end, keyHash);
      if (entry + INDEX_ENTRY_BYTES > tail) break;
      view.setBigUint64(entry + INDEX_FIELD.checksum, checksum, true);
      entry += INDEX_ENTRY_BYTES;
    }
  }
  repairFooter(bytes, footer);
}

function segmentTarget(samples: readonly Uint8Array[]): Target {
  return {
    name: 'segments',
    samples,
    fieldsOf: (bytes) => {
      const chunks = [...chunkPlaces(bytes, 64, footerPosition(bytes))];
      return [...footerFields(bytes), ...chunks.flatMap(({ at, end }) => chunkFields(bytes, at, end))];
    },
    repair: repairSegment,
    run: async (bytes) => {
      const source = new MemorySource(bytes);
      await verifySegment(source, EXPECTED);
      const reader = await decodedAsync(() => SegmentReader.open(source, EXPECTED));
      if (reader === undefined) return;
      const { footer } = reader;
      for (let index = 0; index < footer.runs; index += 1) {
        const { byteOffset: position, byteLength: length, streamId } = footer.run(index);
        const range = { objectKey: OBJECT_KEY, keyHash: footer.keyHash, position, length, streamId };
        await decodedAsync(async () => {
          for await (const chunk of streamChunks(source, range)) useChunk(chunk);
        });
      }
      for (let index = 0; index < footer.chunks; index += 1) {
        const chunk = await decodedAsync(() => reader.chunk(index));
        if (chunk !== undefined) useChunk(chunk);
      }
    },
  };
}

export function segmentTargets(): [chunks: Target, segments: Target] {
  const all = segments();
  return [chunkTarget(all), segmentTarget(all)];
}
