/** A slot file of the write-ahead log: its header, and every valid block in it, of whatever filling. */
import { viewOf } from '../../base/bytes.ts';
import { xxh64 } from '../../codec/checksum.ts';
import { MillraceError } from '../../errors/millrace-error.ts';
import { PAGE_BYTES } from '../../base/bytes.ts';
import { SLOT_BYTES_MAX } from '../../limits/limits.ts';
import { BLOCK_HEADER_BYTES } from '../../ring/block-format.ts';
import { FRAME_KIND } from '../../record/frame-format.ts';
import { type FrameHeader, walkFrames } from '../../record/frame-reader.ts';
import { findBlocks, type FoundBlock } from '../../wal/scan.ts';
import {
  readSlotHeader,
  SLOT_CHECKED_BYTES,
  SLOT_MAGIC,
  SLOT_VERSION,
  type SlotHeader,
} from '../../wal/slot-format.ts';
import type { Dumper, DumpOptions, DumpTable, FileDump } from './file-dump.ts';
import type { InputFile } from './input-file.ts';

export const slotDumper: Dumper = { kind: 'WAL slot', magic: { position: 0, value: SLOT_MAGIC }, dump };

interface BlockDump extends FoundBlock {
  readonly records: number;
  readonly frames: readonly FrameDump[];
}

interface FrameDump extends FrameHeader {
  /** Of the frame in the file. */
  readonly position: number;
  readonly kindName: string;
}

const BLOCK_HEADING = ['block', 'filling', 'position', 'bytes', 'write start', 'frames', 'records', 'streams'];
const FRAME_HEADING = ['position', 'block', 'kind', 'stream', 'first', 'next', 'records', 'user bytes', 'timestamp'];

async function dump(input: InputFile, options: DumpOptions): Promise<FileDump> {
  if (input.size < PAGE_BYTES || input.size > SLOT_BYTES_MAX) {
    const problem = `${input.size} bytes, where a slot has ${PAGE_BYTES} to ${SLOT_BYTES_MAX}`;
    return { facts: [['bytes', input.size]], tables: [], json: { bytes: input.size }, problems: [problem] };
  }
  const image = await input.read(0, input.size);
  const header = readSlotHeader(viewOf(image));
  const blocks = findBlocks(image, header).map((block) => describeBlock(image, block));
  const { storeId, checksum, lane, slotIndex, slots, slotBytes, version } = header;
  const store = Buffer.from(storeId).toString('hex');
  return {
    facts: [
      ['store', store],
      ['version', version],
      ['lane', lane],
      ['slot', `${slotIndex} of ${slots}`],
      ['bytes', slotBytes],
      ['blocks', blocks.length],
    ],
    tables: [blockTable(blocks), ...(options.frames ? [frameTable(blocks)] : [])],
    json: {
      storeId: store,
      ...{ version, lane, slotIndex, slots, slotBytes },
      checksum: checksum.toString(16).padStart(16, '0'),
      blocks: blocks.map((block) => (options.frames ? block : { ...block, frames: block.frames.length })),
    },
    problems: headerProblems(header, image),
  };
}

function headerProblems(header: SlotHeader, image: Uint8Array): string[] {
  const problems: string[] = [];
  if (xxh64(image.subarray(0, SLOT_CHECKED_BYTES)) !== header.checksum) problems.push('the checksum of the header');
  if (header.version > SLOT_VERSION) problems.push(`version ${header.version}, this millrace knows ${SLOT_VERSION}`);
  if (header.slotBytes !== image.length)
    problems.push(`${image.length} bytes where the header has ${header.slotBytes}`);
  return problems;
}

function describeBlock(image: Uint8Array, block: FoundBlock): BlockDump {
  const from = block.position + BLOCK_HEADER_BYTES;
  const frames: FrameDump[] = [];
  const damaged = (problem: string, at: number): MillraceError =>
    new MillraceError('ERR_MILLRACE_WAL_CORRUPT', `${problem} at ${at}, in a block whose checksum holds`);
  walkFrames(viewOf(image), from, from + block.payloadBytes, damaged, (header, position) => {
    frames.push({ position, kindName: kindName(header.kind), ...header });
  });
  return { ...block, records: frames.reduce((sum, { recordCount }) => sum + recordCount, 0), frames };
}

function kindName(kind: number): string {
  return Object.entries(FRAME_KIND).find(([, value]) => value === kind)?.[0] ?? 'unknown';
}

function blockTable(blocks: readonly BlockDump[]): DumpTable {
  const rows = blocks.map((block) => [
    block.blockSequence,
    block.slotSequence,
    block.position,
    block.payloadBytes,
    block.writeStart,
    block.frames.length,
    block.records,
    new Set(block.frames.map(({ streamId }) => streamId)).size,
  ]);
  return { heading: BLOCK_HEADING, rows };
}

function frameTable(blocks: readonly BlockDump[]): DumpTable {
  const rows = blocks.flatMap(({ blockSequence, frames }) =>
    frames.map((frame) => [
      frame.position,
      blockSequence,
      frame.kindName,
      frame.streamId,
      frame.firstOffset,
      frame.firstOffset + frame.offsetSpan,
      frame.recordCount,
      frame.userBytes,
      frame.timestamp,
    ]),
  );
  return { heading: FRAME_HEADING, rows };
}
