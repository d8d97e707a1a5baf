/** Records for the inputs of merges, about half of which compression takes away. */
import { SeededRandom } from '../../src/base/random.ts';
import { FRAME_HEADER_BYTES, FRAME_KIND, recordBytes } from '../../src/record/frame-format.ts';
import { finishFrame, FrameMemory, writeRecord } from '../../src/record/frame-writer.ts';

export const RECORD_BYTES = 1_024;

const HALF = RECORD_BYTES / 2;
const TEXT: Buffer = Buffer.alloc(HALF, 'a stream that fills a mill ');
/** Far larger than the codec looks back, so that no record is a copy of one before it. */
const NOISE: Uint8Array = new SeededRandom(3).bytes(4 * 1_024 * 1_024);

/** Filled for one record after the other. */
const VALUE: Buffer = Buffer.concat([TEXT, TEXT]);

/** One frame of so many records. */
export function frameOf(streamId: number, firstOffset: number, records: number, timestamp: number): Uint8Array {
  const bytes = FRAME_HEADER_BYTES + records * recordBytes(0, RECORD_BYTES);
  const memory = new FrameMemory(new ArrayBuffer(Math.ceil(bytes / 8) * 8));
  let at = FRAME_HEADER_BYTES;
  for (let record = 0; record < records; record += 1) {
    const from = ((firstOffset + record) * HALF) % NOISE.length;
    VALUE.set(NOISE.subarray(from, from + HALF));
    at = writeRecord(memory, at, null, VALUE, 0);
  }
  const counts = { recordCount: records, offsetSpan: records, userBytes: records * RECORD_BYTES };
  const rest = { streamId, firstOffset, timestamp, epoch: 0, kind: FRAME_KIND.records, flags: 0, extensionBytes: 0 };
  return memory.bytes.subarray(0, finishFrame(memory, 0, at, { ...counts, ...rest }));
}
