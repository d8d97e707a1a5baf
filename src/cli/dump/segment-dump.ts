/** A segment: what its footer says, and every chunk as its own header describes it. */
import { isMillraceError } from '../../errors/millrace-error.ts';
import { type ChunkDescription, describeChunk, describeSegment } from '../../segment/describe.ts';
import { type FooterRun, HEADER_FIELD, SEGMENT_HEADER_BYTES, SEGMENT_MAGIC } from '../../segment/format.ts';
import { parseSegmentHeader } from '../../segment/header.ts';
import { SegmentReader } from '../../segment/reader.ts';
import { time } from '../text.ts';
import type { Dumper, DumpTable, FileDump } from './file-dump.ts';
import type { InputFile } from './input-file.ts';

export const segmentDumper: Dumper = {
  kind: 'segment',
  magic: { position: HEADER_FIELD.magic, value: SEGMENT_MAGIC },
  dump,
};

const RUN_HEADING = ['stream', 'first', 'next', 'records', 'user bytes', 'bytes', 'chunks', 'first time', 'last time'];
const CHUNK_HEADING = ['position', 'type', 'codec', 'stream', 'first', 'next', 'records', 'raw', 'stored', 'tracking'];

async function dump(input: InputFile): Promise<FileDump> {
  // The path is all that is known: neither the store nor the key under which it keeps the segment.
  const expected = { storeId: 'any', objectKey: input.name } as const;
  const problems: string[] = [];
  const start = await input.read(0, Math.min(input.size, SEGMENT_HEADER_BYTES));
  await attempt(problems, async () => parseSegmentHeader(start, expected));
  const reader = await SegmentReader.open(input, expected);
  const chunks: ChunkDescription[] = [];
  for (let index = 0; index < reader.footer.chunks; index += 1) {
    await attempt(problems, async () => chunks.push(describeChunk(await reader.chunk(index))));
  }
  const { objectKey: _path, ...segment } = describeSegment(input.name, reader.footer);
  return {
    facts: [
      ['store', segment.storeId],
      ['version', segment.version],
      ['created', time(segment.createdAt)],
      ['checksum', segment.checksum],
      ['bytes', input.size],
      ['runs', segment.runs.length],
      ['chunks', segment.chunks],
    ],
    tables: [runTable(segment.runs), chunkTable(chunks)],
    json: { bytes: input.size, ...segment, chunks },
    problems,
  };
}

/** One damaged chunk hides none of the others. */
async function attempt(problems: string[], check: () => Promise<unknown>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!isMillraceError(error) || error.kind !== 'corrupt') throw error;
    problems.push(error.message);
  }
}

function runTable(runs: readonly FooterRun[]): DumpTable {
  const rows = runs.map((run) => [
    run.streamId,
    run.firstOffset,
    run.nextOffset,
    run.records,
    run.userBytes,
    run.byteLength,
    run.chunks,
    time(run.firstTimestamp),
    time(run.lastTimestamp),
  ]);
  return { heading: RUN_HEADING, rows };
}

function chunkTable(chunks: readonly ChunkDescription[]): DumpTable {
  const rows = chunks.map((chunk) => [
    chunk.position,
    chunk.type,
    chunk.codec,
    chunk.streamId,
    chunk.firstOffset,
    chunk.nextOffset,
    chunk.records,
    chunk.rawBytes,
    chunk.storedBytes,
    chunk.trackingBytes,
  ]);
  return { heading: CHUNK_HEADING, rows };
}
