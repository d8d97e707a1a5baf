/**
 * A producer's thread that dies between any two of its steps, and of those of the WAL worker: its lane is moved by
 * hand, and its port closes when the test says so.
 */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { afterEach, suite, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { systemTimers } from '../../../src/base/timers.ts';
import { loadChecksum } from '../../../src/codec/checksum.ts';
import type { FlushScheduler } from '../../../src/flush/scheduler.ts';
import { allocateDoorbell } from '../../../src/ring/doorbell.ts';
import type { SealedSlot } from '../../../src/ring/producer.ts';
import { systemEnvironment } from '../../../src/store/environment.ts';
import { openIn } from '../../../src/store/open.ts';
import { ProducerHost } from '../../../src/store/producers/host.ts';
import { Followers } from '../../../src/stream/followers.ts';
import { SimulatedDisk } from '../../../src/testing/disk/simulated-disk.ts';
import { DIRECTORY, pagesOf, SMALL_RING, SteppedLane } from '../../support/stepped-lane.ts';
import { newStream } from '../../support/stream-state.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const LANE = 1;
const STREAM = 7;
/** What has to happen happens within a few turns of the event loop; the rest is for a wake-up that is slow. */
const TURNS_MAX = 2_000;

/** Steps of the thread up to its death. Fillings end with a seal of their own, or in a reservation. */
const STEPS: readonly ((lane: SteppedLane) => void)[] = [
  (lane) => void lane.append(STREAM, 'open'),
  (lane) => void lane.producer.closeBlock(),
  (lane) => {
    lane.block(STREAM, pagesOf(3, 'a'));
  },
  (lane) => void lane.seal(),
  (lane) => void lane.append(STREAM, 'behind a seal'),
  (lane) => {
    lane.block(STREAM, pagesOf(8, 'b'));
  },
  (lane) => {
    lane.block(STREAM, pagesOf(8, 'c'));
  },
];

interface Death {
  /** Steps that the thread takes. */
  readonly steps: number;
  /** Steps after which the WAL worker writes: none, or what is closed by then. */
  readonly written: number;
  /** Whether the store's thread looks after that. */
  readonly seen: boolean;
  /** The WAL worker writes the rest before the store's thread hears of the death. */
  readonly early: boolean;
}

function deaths(): Death[] {
  const all: Death[] = [];
  for (let steps = 0; steps <= STEPS.length; steps += 1) {
    for (let written = 0; written <= steps; written += 1) {
      for (const seen of [false, true]) for (const early of [false, true]) all.push({ steps, written, seen, early });
    }
  }
  return all;
}

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** Returns what was closed and what was flushed; `undefined` when the lane does not become free. */
async function die({
  steps,
  written,
  seen,
  early,
}: Death): Promise<{ slots: SealedSlot[]; closed: number } | undefined> {
  const lane = await SteppedLane.open(new SimulatedDisk({ directories: [DIRECTORY] }), { lane: LANE });
  const { ring, recovered } = lane;
  const { start, released } = recovered;
  const port = Object.assign(new EventEmitter(), {
    ref: () => undefined,
    unref: () => undefined,
    postMessage: () => undefined,
  });
  const slots: SealedSlot[] = [];
  let held: number | undefined;
  let isFree = false;
  let flushed = 0;
  const flush = {
    add: (_: unknown, slot: SealedSlot) => slots.push(slot),
    drain: () => {
      for (; flushed < slots.length; flushed += 1) host.release(slots[flushed] as SealedSlot);
      return Promise.resolve();
    },
  };
  const host: ProducerHost = new ProducerHost({
    lane: { lane: LANE, ring, geometry: SMALL_RING, start, released },
    port: port as unknown as MessagePort,
    doorbell: allocateDoorbell(),
    flush: flush as unknown as FlushScheduler,
    grant: () => {
      held = STREAM;
      return Promise.resolve(newStream(STREAM));
    },
    ungrant: (streamId) => {
      assert.equal(streamId, held);
      held = undefined;
    },
    publishers: { published: () => undefined, publisher: () => undefined },
    followers: new Followers(),
    ended: () => {
      isFree = true;
    },
  });
  port.emit('message', { call: 1, request: { type: 'stream', name: 'x', options: {} } });
  await nextTurn();
  for (const [index, step] of STEPS.slice(0, steps).entries()) {
    step(lane);
    if (index + 1 === written) lane.drain();
  }
  if (seen) host.look();
  if (early) lane.drain();
  port.emit('close');
  await nextTurn();
  lane.drain();
  for (let turn = 0; !isFree && turn < TURNS_MAX; turn += 1) await nextTurn();
  if (!isFree) return undefined;
  assert.equal(held, undefined, "the stream is the store's");
  return { slots, closed: lane.producer.words.closedBlocks(0) };
}

suite("the death of a producer's thread", () => {
  test('at any step gives its streams and its lane back, and all it has closed to the flush', async () => {
    await loadChecksum();
    const stuck: string[] = [];
    for (const death of deaths()) {
      const end = await die(death);
      if (end === undefined) {
        stuck.push(JSON.stringify(death));
        continue;
      }
      const { slots, closed } = end;
      const sequences = slots.map(({ slotSequence }) => slotSequence);
      assert.deepEqual(sequences, [...slots.keys()], JSON.stringify(death));
      assert.equal((slots.at(-1)?.lastBlock ?? -1) + 1, closed, JSON.stringify(death));
    }
    assert.deepEqual(stuck, []);
  });

  test('a flush that waits for what it left keeps the process alive until then', async () => {
    let holds = 0;
    const hold = (): (() => void) => {
      holds += 1;
      return () => {
        holds -= 1;
      };
    };
    const directory = temporaryDirectory();
    const environment = { ...systemEnvironment, timers: { ...systemTimers, hold } };
    const store = await openIn(environment, { dir: directory.path, compaction: false });
    open.push(
      () => store.close(),
      () => {
        directory.remove();
      },
    );
    const before = holds;
    const flushed = store.flush();
    assert.equal(holds, before + 1);
    await flushed;
    assert.equal(holds, before);
  });
});
