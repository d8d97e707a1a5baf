/** Writes the whole state as a chain of blocks. The state must not change until it is done. */
import type { FileHandle } from '../../base/file-system.ts';
import { writeWhole } from '../../base/whole-file.ts';
import { keptRunOf, RUN } from '../state/run-table.ts';
import type { State } from '../state/state.ts';
import { BlockWriter, type ChainEnd, type FileIdentity } from './block-writer.ts';
import { snapshotRow, type RunSnapshotRow, type SnapshotRow } from './snapshot-rows.ts';

/** The thread is given back between blocks: one of this size takes a few milliseconds to encode. */
const BLOCK_PAYLOAD_BYTES_TARGET = 1024 * 1024;

const FILE_START: ChainEnd = { sequence: 0, previous: 0n, position: 0 };

/** Returns where the file ends; it is written, and not yet synced. */
export async function writeSnapshot(handle: FileHandle, identity: FileIdentity, state: State): Promise<ChainEnd> {
  let end = FILE_START;
  for (const block of snapshotBlocks(identity, FILE_START, rowsOf(state))) {
    await writeWhole(handle, block.bytes, end.position);
    end = block.end;
  }
  return end;
}

/** A block of the chain, and where it ends. */
interface SealedBlock {
  /** Valid until the next block is asked for. */
  readonly bytes: Uint8Array;
  readonly end: ChainEnd;
}

/** Puts rows and the row that ends them into a chain of blocks from `start` on. */
export function* snapshotBlocks(
  identity: FileIdentity,
  start: ChainEnd,
  content: Iterable<SnapshotRow>,
): Generator<SealedBlock> {
  const blocks = new BlockWriter(identity, start);
  let rows = 0;
  for (const row of content) {
    snapshotRow.write(blocks.payload, row);
    rows += 1;
    if (blocks.payload.length < BLOCK_PAYLOAD_BYTES_TARGET) continue;
    yield { bytes: blocks.seal(), end: blocks.end };
    blocks.payload.reset();
  }
  snapshotRow.write(blocks.payload, { type: 'end', rows });
  yield { bytes: blocks.seal(true), end: blocks.end };
}

function* rowsOf(state: State): Generator<SnapshotRow> {
  yield headOf(state);
  for (const slot of state.lanes.values()) yield { type: 'lane', ...slot };
  for (const object of state.objects.values()) yield { type: 'object', ...object };
  yield* streamRowsOf(state);
  for (const job of state.jobs.values()) yield { type: 'job', ...job };
  for (const job of state.finishedJobs.values()) yield { type: 'finishedJob', ...job };
}

/** What the state says of streams and the objects they live in: neither of its log, nor of work under way or done. */
export function* settledRowsOf(state: State): Generator<SnapshotRow> {
  yield headOf(state);
  for (const object of state.objects.values()) {
    if (object.state === 'committed') yield { type: 'object', ...object };
  }
  yield* streamRowsOf(state);
}

function headOf({ now, nextStreamId, nextObjectNumber, nextJobId }: State): SnapshotRow {
  return { type: 'head', now, nextStreamId, nextObjectNumber, nextJobId };
}

function* streamRowsOf(state: State): Generator<SnapshotRow> {
  for (const stream of state.streams.values()) {
    yield { type: 'stream', ...stream };
    for (let index = 0; index < stream.runs.length; index += 1) yield runRowOf(state, stream.runs.at(index));
    for (const [reference, offset] of stream.consumers) yield { type: 'consumer', reference, offset };
    for (const [reference, mark] of stream.publishers) yield { type: 'publisher', reference, ...mark };
  }
}

function runRowOf({ runs }: State, row: number): RunSnapshotRow {
  return {
    type: 'run',
    objectNumber: runs.get(row, RUN.objectNumber),
    endOffset: runs.get(row, RUN.endOffset),
    run: keptRunOf(runs, row),
  };
}
