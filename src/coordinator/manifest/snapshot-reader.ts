/** Reads a snapshot back. It was synced before anything named it: any damage is an error. */
import type { State } from '../state/state.ts';
import { readBlock } from './block-reader.ts';
import type { ChainEnd, FileIdentity } from './block-writer.ts';
import { ByteReader } from './byte-reader.ts';
import { contentFailure, corrupt } from './failures.ts';
import type { FileWindow } from './file-window.ts';
import { snapshotRow } from './snapshot-rows.ts';
import { StateLoader } from './state-loader.ts';

export interface LoadedSnapshot {
  readonly state: State;
  /** Where its last block ends: the log and CURRENT are chained to it. */
  readonly end: ChainEnd;
}

/** `position`: where it begins in its file. */
export async function readSnapshot(window: FileWindow, identity: FileIdentity, position = 0): Promise<LoadedSnapshot> {
  const loader = new StateLoader();
  let end: ChainEnd = { sequence: 0, previous: 0n, position };
  for (;;) {
    const block = await readBlock(window, identity, end);
    if (block === undefined)
      throw corrupt(window.path, end.position, `block ${end.sequence} of the snapshot is not sound`);
    try {
      const reader = new ByteReader(block.payload);
      while (reader.remaining > 0) loader.add(snapshotRow.read(reader));
      if (block.last) return { state: loader.finish(), end: block.end };
    } catch (error) {
      throw contentFailure(window.path, end.position, error);
    }
    end = block.end;
  }
}
