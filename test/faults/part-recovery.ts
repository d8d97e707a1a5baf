/**
 * What the recovery of the manifest and of the log give, each alone: it costs far less than a whole store. Two disks
 * whose manifests hold the same state, and whose logs recover to the same frames at the same places, are one to all
 * that follows.
 */
import { xxh64 } from '../../src/codec/checksum.ts';
import { BLOCK_KIND } from '../../src/coordinator/manifest/format.ts';
import { loadManifest } from '../../src/coordinator/manifest/manifest.ts';
import { writeSnapshot } from '../../src/coordinator/manifest/snapshot-writer.ts';
import type { State } from '../../src/coordinator/state/state.ts';
import { blockBytes, readBlockHeader } from '../../src/ring/block-format.ts';
import { CONTROL_BYTES, FIRST_BLOCK_POSITION, type RingGeometry, slotBase } from '../../src/ring/geometry.ts';
import type { LaneStart } from '../../src/ring/producer.ts';
import { readIdentity } from '../../src/store/identity.ts';
import type { Nodes } from '../../src/testing/disk/nodes.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { readCleanMark } from '../../src/wal/clean-mark.ts';
import { recoverLane, type RecoveredLane, type StreamPosition } from '../../src/wal/recovery.ts';
import { existingGeometry, type LanePlace } from '../../src/wal/slot-files.ts';
import { type Answer, digestOfFiles, LOG, MANIFEST } from './footprint.ts';
import { LogFiles, RingMemory } from './log-files.ts';
import { DIRECTORY } from './worker.ts';

const LANE = 0;
const NOTHING_FLUSHED: LaneStart = { slotSequence: -1, blockSequence: -1 };

/** Told of each part that had to be recovered, and what that gave. */
export type Told = (answer: Answer) => void;

/** What an opening finds in the manifest, and what a log has to go on from. */
interface Recovered {
  readonly answer: Answer;
  readonly log: LogRecovery | undefined;
}

/** Recovers each manifest once, and each log once by the same state. */
export class PartRecovery {
  readonly #told: Told;
  /** By files of the manifest. */
  readonly #manifests = new Map<bigint, Recovered>();
  /** By what the manifest says. */
  readonly #logs = new Map<Answer, LogRecovery>();

  /** `told` of each part that had to be recovered. */
  constructor(told: Told) {
    this.#told = told;
  }

  manifest(nodes: Nodes, disk: () => SimulatedDisk): Answer | Promise<Answer> {
    const files = digestOfFiles(nodes, MANIFEST);
    return this.#manifests.get(files)?.answer ?? this.#load(files, disk().copy());
  }

  /** Of a disk whose manifest was asked for. */
  log(nodes: Nodes): Answer | Promise<Answer> {
    return this.#manifests.get(digestOfFiles(nodes, MANIFEST))?.log?.answer(nodes) ?? 'no manifest';
  }

  async #load(files: bigint, fileSystem: SimulatedDisk): Promise<Answer> {
    let recovered: Recovered;
    try {
      const storeId = readIdentity(fileSystem, DIRECTORY) ?? new Uint8Array(16);
      const place = { fileSystem, directory: MANIFEST, storeId };
      const { state, fileNumber, logHandle } = await loadManifest(place, 'write');
      await logHandle.close();
      // As a snapshot, which is all that there is to know.
      const scratch = new SimulatedDisk();
      const handle = scratch.openSync('/snapshot', { access: 'create' });
      await writeSnapshot(handle, { kind: BLOCK_KIND.snapshot, storeId, fileNumber }, state);
      const answer = scratch.digest();
      const log = this.#logs.get(answer) ?? new LogRecovery(storeId, state, this.#told);
      this.#logs.set(answer, log);
      recovered = { answer, log };
    } catch (error) {
      recovered = { answer: `refused: ${String(error)}`, log: undefined };
    }
    this.#manifests.set(files, recovered);
    this.#told(recovered.answer);
    return recovered.answer;
  }
}

/** How the logs of disks recover whose manifests say the same. */
class LogRecovery {
  readonly #storeId: Uint8Array;
  readonly #state: State;
  readonly #told: Told;
  readonly #known = new Map<bigint, Answer>();

  constructor(storeId: Uint8Array, state: State, told: Told) {
    this.#storeId = storeId;
    this.#state = state;
    this.#told = told;
  }

  answer(nodes: Nodes): Answer | Promise<Answer> {
    const files = digestOfFiles(nodes, LOG);
    return this.#known.get(files) ?? this.#recover(files, LogFiles.of(nodes));
  }

  async #recover(digest: bigint, files: LogFiles): Promise<Answer> {
    const geometry = existingGeometry(files, LOG, LANE);
    if (geometry === undefined) return 'no geometry';
    const memory = memoryOf(geometry);
    const { ring } = memory;
    const fileSystem = files.into(memory);
    const place: LanePlace = { fileSystem, directory: LOG, storeId: this.#storeId, lane: LANE };
    const flushed = this.#state.lanes.get(LANE) ?? NOTHING_FLUSHED;
    const clean = readCleanMark(place, flushed)?.start;
    const stored = (streamId: number): StreamPosition | undefined => this.#state.streams.get(streamId);
    let answer: Answer;
    try {
      const input = { ...place, geometry, ring, flushed, stored, clean, salvage: false };
      answer = digestOfLane(await recoverLane(input), geometry, ring, clean);
    } catch (error) {
      answer = `refused: ${String(error)}`;
    }
    this.#known.set(digest, answer);
    this.#told(answer);
    return answer;
  }
}

/**
 * All that a lane gives to whoever opens it. Its blocks are whole: their checksums stand for them, and for the frames
 * that they hold.
 */
function digestOfLane(
  { start, released, fillings, frames, unusableFiles, report }: RecoveredLane,
  geometry: RingGeometry,
  ring: SharedArrayBuffer,
  clean: LaneStart | undefined,
): bigint {
  // Nothing goes by the words of the report.
  const { damages, lost, lostTruncations } = report;
  const text = [geometry, clean, start, released, fillings, unusableFiles, damages, lost, lostTruncations];
  const view = new DataView(ring);
  const parts: bigint[] = frames.map(({ at }) => BigInt(at));
  for (const { slotSequence, endPosition } of fillings) {
    const base = slotBase(geometry, slotSequence);
    for (let position = FIRST_BLOCK_POSITION; position < endPosition;) {
      const { checksum, payloadBytes } = readBlockHeader(view, base + position);
      parts.push(checksum);
      position += blockBytes(payloadBytes);
    }
  }
  const digest = xxh64(Buffer.from(JSON.stringify(text)));
  return xxh64(new Uint8Array(BigUint64Array.from(parts).buffer), digest);
}

const memories = new Map<number, RingMemory>();

function memoryOf({ slots, slotBytes }: RingGeometry): RingMemory {
  const bytes = CONTROL_BYTES + slots * slotBytes;
  const memory = memories.get(bytes) ?? new RingMemory(bytes);
  memories.set(bytes, memory);
  return memory;
}
