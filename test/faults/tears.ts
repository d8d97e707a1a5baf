/**
 * Tears one write of the log in many ways. What a loss leaves of it is recovered by the real recovery of the WAL or of
 * the manifest alone, which costs far less than a whole store, and must lie between the state without the write and
 * the state with all of it; those two are held against the oracle as whole stores.
 */
import assert from 'node:assert/strict';
import { SeededRandom } from '../../src/base/random.ts';
import { openEmbeddedCoordinator, type EmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import { CONTROL_BYTES, type RingGeometry } from '../../src/ring/geometry.ts';
import type { LaneStart } from '../../src/ring/producer.ts';
import { readIdentity } from '../../src/store/identity.ts';
import { SECTORS_PER_PAGE } from '../../src/testing/disk/nodes.ts';
import type { Survival } from '../../src/testing/disk/power-loss.ts';
import { type DiskSnapshot, SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import type { SimulatedTime } from '../../src/testing/simulated-time.ts';
import { recoverLane, type RecoveredLane, type StreamPosition } from '../../src/wal/recovery.ts';
import { existingGeometry } from '../../src/wal/slot-files.ts';
import { KILL } from './recovery.ts';
import { DIRECTORY } from './worker.ts';

const WAL = `${DIRECTORY}/wal`;
const MANIFEST = `${DIRECTORY}/manifest`;
/** Ways in which one write is torn: recovering the WAL is the cheaper of the two. */
const TEARS_OF_WAL = 192;
const TEARS_OF_MANIFEST = 48;
const NOTHING: Survival = { ...KILL, page: () => 0 };
const NOTHING_FLUSHED: LaneStart = { slotSequence: -1, blockSequence: -1 };

export interface TornWrite {
  readonly path: string;
  readonly snapshot: DiskSnapshot;
  readonly time: SimulatedTime;
  readonly seed: number;
}

/** How often a write was torn, and how many of the disks that this left were equal to an earlier one. */
export interface TearCounts {
  readonly tears: number;
  readonly repeated: number;
}

const NONE: TearCounts = { tears: 0, repeated: 0 };

/** None for a write that is not of a log. */
export async function tearWrite(torn: TornWrite): Promise<TearCounts> {
  if (/\.wal$/.test(torn.path) && torn.path.startsWith(WAL)) return tearSlot(torn);
  if (/\d\.log$/.test(torn.path) && torn.path.startsWith(MANIFEST)) return tearManifest(torn);
  return NONE;
}

function* tears(count: number, seed: number): Generator<Survival> {
  const random = new SeededRandom(seed);
  for (let tear = 0; tear < count; tear += 1) {
    const share = 1 + random.below(99);
    const keeps = (): number => (random.below(100) < share ? 1 : 0);
    const bySector = tear % 2 === 0;
    yield {
      ...KILL,
      page: (_path, _page, images) => {
        const last = images - 1;
        if (!bySector) return keeps() * last;
        return Array.from({ length: SECTORS_PER_PAGE }, () => keeps() * last);
      },
    };
  }
}

/** What tears leave, each disk once: a write of a few pages is torn in few ways. */
function* tornDisks(snapshot: DiskSnapshot, count: number, seed: number): Generator<SimulatedDisk, TearCounts> {
  const seen = new Set<bigint>();
  for (const survival of tears(count, seed)) {
    const disk = SimulatedDisk.afterPowerLoss(snapshot, survival);
    const digest = disk.digest();
    if (seen.has(digest)) continue;
    seen.add(digest);
    yield disk;
  }
  return { tears: count, repeated: count - seen.size };
}

/** Takes the disks one by one; resolves with what the generator says in the end. */
async function each(
  disks: Generator<SimulatedDisk, TearCounts>,
  take: (disk: SimulatedDisk) => Promise<void>,
): Promise<TearCounts> {
  for (;;) {
    const { value, done } = disks.next();
    if (done === true) return value;
    await take(value);
  }
}

const memory = new Map<number, SharedArrayBuffer[]>();

/** Memory of three rings, used again and again. */
function ringsOf({ slots, slotBytes }: RingGeometry): SharedArrayBuffer[] {
  const bytes = CONTROL_BYTES + slots * slotBytes;
  const rings = memory.get(bytes) ?? Array.from({ length: 3 }, () => new SharedArrayBuffer(bytes));
  memory.set(bytes, rings);
  return rings;
}

async function tearSlot({ snapshot, seed, time }: TornWrite): Promise<TearCounts> {
  const disk = SimulatedDisk.afterPowerLoss(snapshot, KILL);
  const storeId = readIdentity(disk, DIRECTORY);
  const geometry = storeId === undefined ? undefined : existingGeometry(disk, WAL, 0);
  if (storeId === undefined || geometry === undefined) return NONE;
  const coordinator = await openManifest(disk, storeId, time);
  const positions = new Map<number, StreamPosition>();
  for (const { streamId } of await coordinator.streams()) {
    positions.set(streamId, await coordinator.streamTotals(streamId));
  }
  const [flushed = NOTHING_FLUSHED] = await coordinator.flushedSlots();
  await coordinator.close();
  const recover = (fileSystem: SimulatedDisk, ring: SharedArrayBuffer): Promise<RecoveredLane> =>
    recoverLane({
      fileSystem,
      directory: WAL,
      storeId,
      lane: 0,
      geometry,
      ring,
      flushed,
      stored: (streamId) => positions.get(streamId),
      salvage: false,
    });
  const [least, most, torn] = ringsOf(geometry) as [SharedArrayBuffer, SharedArrayBuffer, SharedArrayBuffer];
  const without = await recover(SimulatedDisk.afterPowerLoss(snapshot, NOTHING), least);
  const whole = await recover(SimulatedDisk.afterPowerLoss(snapshot, KILL), most);
  assertBegins(whole, most, without, least);
  return each(tornDisks(snapshot, TEARS_OF_WAL, seed), async (tornDisk) => {
    const recovered = await recover(tornDisk, torn);
    assertBegins(recovered, torn, without, least);
    assertBegins(whole, most, recovered, torn);
  });
}

/** The frames of `longer` begin with those of `shorter`, byte by byte. */
function assertBegins(
  longer: RecoveredLane,
  longerRing: SharedArrayBuffer,
  shorter: RecoveredLane,
  shorterRing: SharedArrayBuffer,
): void {
  assert.ok(longer.frames.length >= shorter.frames.length, 'no frame is lost that was there without the write');
  const [left, right] = [Buffer.from(longerRing), Buffer.from(shorterRing)];
  shorter.frames.forEach(({ at, header }, index) => {
    const other = longer.frames[index];
    const isSame =
      other?.at === at && left.compare(right, at, at + header.frameBytes, at, at + header.frameBytes) === 0;
    assert.ok(isSame, `frame ${index} of stream ${header.streamId} is what was written`);
  });
}

async function tearManifest({ snapshot, seed, time }: TornWrite): Promise<TearCounts> {
  const disk = SimulatedDisk.afterPowerLoss(snapshot, KILL);
  const storeId = readIdentity(disk, DIRECTORY);
  if (storeId === undefined) return NONE;
  const load = async (loaded: SimulatedDisk): Promise<string> => {
    const coordinator = await openManifest(loaded, storeId, time);
    const state = await stateOf(coordinator);
    await coordinator.close();
    return state;
  };
  const states = [await load(SimulatedDisk.afterPowerLoss(snapshot, NOTHING)), await load(disk.copy())];
  return each(tornDisks(snapshot, TEARS_OF_MANIFEST, seed), async (tornDisk) => {
    const state = await load(tornDisk);
    assert.ok(states.includes(state), 'a torn batch of the manifest is there whole or not at all');
  });
}

function openManifest(
  fileSystem: SimulatedDisk,
  storeId: Uint8Array,
  clock: SimulatedTime,
): Promise<EmbeddedCoordinator> {
  return openEmbeddedCoordinator({ fileSystem, directory: MANIFEST, storeId, clock, random: new SeededRandom(1) });
}

async function stateOf(coordinator: EmbeddedCoordinator): Promise<string> {
  const streams = await coordinator.streams();
  const totals = await Promise.all(streams.map(({ streamId }) => coordinator.streamTotals(streamId)));
  const stats = await coordinator.stats();
  const lanes = await coordinator.flushedSlots();
  const objects = await coordinator.listObjects({});
  return JSON.stringify([streams, totals, { ...stats, now: 0 }, lanes, objects.map(({ key }) => key)]);
}
