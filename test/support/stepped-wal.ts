/** A lane whose WAL worker is a writer in the same thread, moved by hand over slot files in memory. */
import { ManualClock } from '../../src/base/clock.ts';
import type { FileSystem } from '../../src/base/file-system.ts';
import { allocateDoorbell, Doorbell } from '../../src/ring/doorbell.ts';
import type { RingGeometry } from '../../src/ring/geometry.ts';
import type { SealedSlot } from '../../src/ring/producer.ts';
import { Lane } from '../../src/stream/lane.ts';
import type { WritableStreamState } from '../../src/stream/frame-appender.ts';
import { createSlotFiles } from '../../src/wal/slot-files.ts';
import { WalWriter } from '../../src/wal/writer.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { DIRECTORY, recover, SMALL_RING, STORE_ID } from './stepped-lane.ts';
import { newStream } from './stream-state.ts';

export interface WalSettings {
  readonly fileSystem: FileSystem;
  readonly geometry: RingGeometry;
  readonly maxRecordBytes: number;
  readonly maxQueuedBytes: number;
}

export class SteppedWal {
  readonly lane: Lane;
  readonly clock: ManualClock = new ManualClock(1_000);
  readonly writer: WalWriter;
  readonly sealed: SealedSlot[] = [];
  /** What the lane said about waiting appends, last. */
  pending = false;
  readonly #streams = new Map<number, WritableStreamState>();

  static async open(settings: Partial<WalSettings> = {}): Promise<SteppedWal> {
    const fileSystem = settings.fileSystem ?? new SimulatedDisk({ directories: [DIRECTORY] });
    const geometry = settings.geometry ?? SMALL_RING;
    await createSlotFiles({ fileSystem, directory: DIRECTORY, storeId: STORE_ID, lane: 0 }, geometry);
    const { recovered, ring } = await recover(fileSystem, { geometry });
    return new SteppedWal(
      { maxRecordBytes: 50_000, maxQueuedBytes: 100_000, ...settings, fileSystem, geometry },
      ring,
      {
        start: recovered.start,
        released: recovered.released,
      },
    );
  }

  private constructor(
    { fileSystem, geometry, maxRecordBytes, maxQueuedBytes }: WalSettings,
    ring: SharedArrayBuffer,
    { start, released }: { start: { slotSequence: number; blockSequence: number }; released: number },
  ) {
    const { clock } = this;
    const identity = { lane: 0, storeId: STORE_ID };
    const doorbell = new Doorbell(allocateDoorbell());
    this.lane = new Lane(
      { ring, geometry, identity, start, released, doorbell, clock, maxRecordBytes, maxQueuedBytes },
      {
        sealed: (slot) => this.sealed.push(slot),
        durable: () => undefined,
        pending: (waiting) => {
          this.pending = waiting;
        },
      },
    );
    this.writer = new WalWriter({ fileSystem, directory: DIRECTORY });
    this.writer.addLane({ lane: 0, ring, geometry, start, nextOffsets: new Float64Array(64) });
  }

  stream(streamId: number): WritableStreamState {
    let stream = this.#streams.get(streamId);
    if (stream === undefined) {
      stream = newStream(streamId);
      this.#streams.set(streamId, stream);
    }
    return stream;
  }

  /** Lets a turn of the event loop pass: open blocks close, and what is durable settles. */
  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Writes everything that is closed, and lets it settle. */
  async write(): Promise<void> {
    await this.turn();
    while (this.writer.step() > 0);
    await this.turn();
    await this.turn();
  }

  /** Writes, then frees the oldest sealed filling. */
  async flush(): Promise<void> {
    await this.write();
    const slot = this.sealed.shift();
    if (slot !== undefined) this.lane.release(slot.slotSequence);
    await this.turn();
  }
}
