/** Everything a store says of itself, as plain data that can be written down and compared. */
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { ManualClock } from '../../src/base/clock.ts';
import { open, type Store } from '../../src/index.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { DIRECTORY, dump, openOver } from '../coordinator/fixture.ts';
import { collect } from '../support/test-store.ts';
import { filesBelow, readBytes } from './fixtures.ts';

/** Publishers cannot be listed: these are the ones that golden stores have. */
const PUBLISHERS = ['sensor-7', 'gateway'];

export interface StreamContent {
  readonly name: string;
  readonly config: unknown;
  readonly firstOffset: number;
  readonly nextOffset: number;
  readonly recordCount: number;
  readonly epoch: number;
  /** `[offset, timestamp, key, value]`; bytes as Latin-1, which keeps every one of them. */
  readonly records: readonly (readonly [number, number, string | null, string | null])[];
  /** `[reference, offset]` of each consumer. */
  readonly consumers: readonly (readonly [string, number])[];
  /** `[reference, last publishing id]` of each publisher; empty where the store was opened for reading alone. */
  readonly publishers: readonly (readonly [string, number])[];
}

function latin1(bytes: Buffer | null): string | null {
  return bytes === null ? null : bytes.toString('latin1');
}

/** Reads all records of all streams, and what is known of consumers and publishers. */
export async function contentOf(store: Store, readOnly = false): Promise<StreamContent[]> {
  const streams: StreamContent[] = [];
  for (const { name, config } of await store.streams()) {
    const stream = await store.stream(name);
    const { firstOffset, nextOffset, records, epoch } = await stream.info();
    const publishers: [string, number][] = [];
    for (const reference of readOnly ? [] : PUBLISHERS) {
      const last = await stream.publisher(reference).lastPublishingId();
      if (last !== undefined) publishers.push([reference, last]);
    }
    streams.push({
      name,
      config,
      firstOffset,
      nextOffset,
      recordCount: records,
      epoch,
      records: (await collect(stream.read())).map(
        ({ offset, timestamp, key, value }) => [offset, timestamp, latin1(key), latin1(value)] as const,
      ),
      consumers: (await stream.offsets()).map(({ reference, offset }) => [reference, offset] as const),
      publishers,
    });
  }
  return streams;
}

/** Opens a store, whatever it is, for writing, and reads all of it. Every check that the engine has must pass. */
export async function contentOfStore(dir: string): Promise<StreamContent[]> {
  const wal = filesBelow(dir).some((name) => name.startsWith('wal/'));
  const store = await open({ dir, compaction: false, ...(wal ? {} : { wal: false }) });
  try {
    const content = await contentOf(store);
    assert.deepEqual((await store.verify()).problems, []);
    return content;
  } finally {
    await store.close();
  }
}

/** Opens a manifest without a store around it, and asks it everything. */
export async function contentOfManifest(dir: string): Promise<unknown> {
  const fileSystem = new SimulatedDisk({ directories: [dirname(DIRECTORY)] });
  for (const name of filesBelow(join(dir, 'manifest'))) {
    fileSystem.put(join(DIRECTORY, name), readBytes(join(dir, 'manifest', name)));
  }
  const coordinator = await openOver(fileSystem, { clock: new ManualClock(1) });
  const content = await dump(coordinator);
  await coordinator.close();
  return content;
}
