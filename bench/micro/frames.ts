/** The frame format: what an append writes and what a reader decodes. */
import { allocatePages } from '../../src/base/page-memory.ts';
import { FRAME_BYTES_TARGET } from '../../src/limits/limits.ts';
import { FRAME_KIND } from '../../src/record/frame-format.ts';
import { FrameMemory, finishFrame, frameContentStart, writeRecord } from '../../src/record/frame-writer.ts';
import { RecordBatch } from '../../src/record/record-batch.ts';
import { recordPool } from '../../src/cli/load/records.ts';
import type { Workload } from '../workload.ts';
import { micro } from './micro.ts';

const RECORD_BYTES = 100;
/** As many as a frame of 64 KiB holds. */
const RECORDS = 512;

export const frameWrite: Workload = micro({
  name: 'frame-write',
  what: 'encodes 100 B records into a frame',
  floor: 'copies the same records',
  amount: { items: RECORDS },
  prepare: () => {
    const pool = recordPool(RECORD_BYTES);
    const memory = new FrameMemory(allocatePages(FRAME_BYTES_TARGET).buffer);
    const plain = Buffer.alloc(RECORDS * RECORD_BYTES);
    return {
      millrace: () => writeFrame(memory, pool),
      floor: () => {
        for (let index = 0; index < RECORDS; index += 1) pool[index]!.copy(plain, index * RECORD_BYTES);
      },
    };
  },
});

export const frameRead: Workload = micro({
  name: 'frame-read',
  what: 'decodes a frame of 100 B records and hands out each record',
  floor: 'makes a view of each record',
  amount: { items: RECORDS },
  prepare: () => {
    const memory = new FrameMemory(allocatePages(FRAME_BYTES_TARGET).buffer);
    const bytes = memory.bytes.subarray(0, writeFrame(memory, recordPool(RECORD_BYTES)));
    return {
      millrace: () => {
        const batch = RecordBatch.decode(bytes, { name: 'a frame', baseOffset: 0 }, 0, RECORDS);
        let sum = 0;
        for (let index = 0; index < batch.length; index += 1) sum += batch.record(index).value!.length;
        requireAll(sum);
      },
      floor: () => {
        let sum = 0;
        for (let index = 0; index < RECORDS; index += 1) {
          sum += bytes.subarray(index * RECORD_BYTES, (index + 1) * RECORD_BYTES).length;
        }
        requireAll(sum);
      },
    };
  },
});

function writeFrame(memory: FrameMemory, pool: readonly Buffer[]): number {
  let end = frameContentStart(0, 0);
  for (let index = 0; index < RECORDS; index += 1) end = writeRecord(memory, end, null, pool[index]!, index);
  return finishFrame(memory, 0, end, {
    streamId: 1,
    firstOffset: 0,
    timestamp: 0,
    recordCount: RECORDS,
    offsetSpan: RECORDS,
    epoch: 0,
    userBytes: RECORDS * RECORD_BYTES,
    kind: FRAME_KIND.records,
    flags: 0,
    extensionBytes: 0,
  });
}

function requireAll(sum: number): void {
  if (sum !== RECORDS * RECORD_BYTES) throw new Error(`${sum} bytes were read`);
}
