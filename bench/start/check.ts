/** Reads streams back and holds them against what must be there. */
import type { Stream } from '../../src/index.ts';
import type { Expectation } from './expectation.ts';
import type { Plan } from './plan.ts';
import { RecordDigest } from './record-digest.ts';

export interface CheckedRead {
  readonly records: number;
  readonly bytes: number;
}

/**
 * Reads every stream to its end. The acknowledged records must be there, whole and in order; behind them may come
 * further records of the plan, which were durable when their acknowledgement was lost with the child. They count as
 * acknowledged from then on. Throws at the first difference.
 */
export async function checkStreams(
  streams: readonly Stream[],
  plan: Plan,
  expectation: Expectation,
  progress: (bytes: number) => void,
): Promise<CheckedRead> {
  let records = 0;
  let bytes = 0;
  for (const [index, stream] of streams.entries()) {
    const digest = await readStream(stream, plan, expectation, index, (read) => {
      progress(bytes + read);
    });
    records += digest.records;
    bytes += digest.bytes;
    expectation.advance(index, digest.records);
    if (digest.value() !== expectation.hash(index)) {
      throw new Error(`${stream.name}: the records behind the acknowledged ones are not those that were appended`);
    }
  }
  return { records, bytes };
}

async function readStream(
  stream: Stream,
  plan: Plan,
  expectation: Expectation,
  index: number,
  progress: (bytes: number) => void,
): Promise<RecordDigest> {
  const acknowledged = expectation.records(index);
  const hash = expectation.hash(index);
  const digest = new RecordDigest();
  const total = plan.totals[index] ?? 0;
  let proven = acknowledged === 0;
  for await (const batch of stream.readBatches({ from: 'first' })) {
    for (let record = 0; record < batch.length; record += 1) {
      const offset = batch.offset(record);
      const value = batch.value(record);
      if (offset !== digest.records) throw new Error(`${stream.name}: offset ${offset} follows ${digest.records - 1}`);
      if (value === null) throw new Error(`${stream.name}: the record at ${offset} has lost its value`);
      digest.add(batch.timestamp(record), value);
      if (digest.records !== acknowledged) continue;
      if (digest.value() !== hash) throw new Error(`${stream.name}: an acknowledged record is not what was appended`);
      proven = true;
    }
    progress(digest.bytes);
  }
  if (!proven)
    throw new Error(`${stream.name}: ${acknowledged} records were acknowledged, ${digest.records} are there`);
  if (digest.records > total)
    throw new Error(`${stream.name}: ${digest.records} records are there, ${total} were planned`);
  return digest;
}
