/** Writes the whole state as a chain of blocks. The state must not change until it is done. */
import type { FileHandle } from '../../base/file-system.ts';
import { RUN } from '../state/run-table.ts';
import type { State } from '../state/state.ts';
import { BlockWriter, type ChainEnd, type FileIdentity } from './block-writer.ts';
import { writeWhole } from './whole-write.ts';
import { snapshotRow, type RunSnapshotRow, type SnapshotRow } from './snapshot-rows.ts';

/** The thread is given back between blocks: one of this size takes a few milliseconds to encode. */
const BLOCK_PAYLOAD_BYTES_TARGET = 1024 * 1024;

/** Returns where the file ends; it is written, and not yet synced. */
export async function writeSnapshot(handle: FileHandle, identity: FileIdentity, state: State): Promise<ChainEnd> {
  const blocks = new BlockWriter(identity, { sequence: 0, previous: 0n, position: 0 });
  let rows = 0;
  const writeBlock = async (last: boolean): Promise<void> => {
    const { position } = blocks.end;
    await writeWhole(handle, blocks.seal(last), position);
    blocks.payload.reset();
  };
  for (const row of rowsOf(state)) {
    snapshotRow.write(blocks.payload, row);
    rows += 1;
    if (blocks.payload.length >= BLOCK_PAYLOAD_BYTES_TARGET) await writeBlock(false);
  }
  snapshotRow.write(blocks.payload, { type: 'end', rows });
  await writeBlock(true);
  return blocks.end;
}

function* rowsOf(state: State): Generator<SnapshotRow> {
  const { now, nextStreamId, nextObjectNumber, nextJobId } = state;
  yield { type: 'head', now, nextStreamId, nextObjectNumber, nextJobId };
  for (const slot of state.lanes.values()) yield { type: 'lane', ...slot };
  for (const object of state.objects.values()) yield { type: 'object', ...object };
  for (const stream of state.streams.values()) {
    yield { type: 'stream', ...stream };
    for (let index = 0; index < stream.runs.length; index += 1) yield runRowOf(state, stream.runs.at(index));
    for (const [reference, offset] of stream.consumers) yield { type: 'consumer', reference, offset };
    for (const [reference, mark] of stream.publishers) yield { type: 'publisher', reference, ...mark };
  }
  for (const job of state.jobs.values()) yield { type: 'job', ...job };
  for (const job of state.finishedJobs.values()) yield { type: 'finishedJob', ...job };
}

function runRowOf({ runs }: State, row: number): RunSnapshotRow {
  return {
    type: 'run',
    objectNumber: runs.get(row, RUN.objectNumber),
    endOffset: runs.get(row, RUN.endOffset),
    run: {
      streamId: runs.get(row, RUN.streamId),
      firstOffset: runs.get(row, RUN.firstOffset),
      nextOffset: runs.get(row, RUN.nextOffset),
      records: runs.get(row, RUN.records),
      userBytes: runs.get(row, RUN.userBytes),
      trackingBytes: runs.get(row, RUN.trackingBytes),
      firstTimestamp: runs.get(row, RUN.firstTimestamp),
      lastTimestamp: runs.get(row, RUN.lastTimestamp),
      epoch: runs.get(row, RUN.epoch),
      byteOffset: runs.get(row, RUN.byteOffset),
      byteLength: runs.get(row, RUN.byteLength),
      chunks: runs.get(row, RUN.chunks),
      trackingSnapshot: runs.get(row, RUN.snapshot) === 1,
    },
  };
}
