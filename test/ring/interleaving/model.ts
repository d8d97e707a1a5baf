/**
 * A small model of a lane: the real producer on this thread, the real WAL worker's loop on another, and every order in
 * which their accesses to shared words can fall. After each order all that was closed must be durable, and before that
 * nothing may be called durable that was not written.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { PAGE_BYTES } from '../../../src/base/bytes.ts';
import { loadChecksum } from '../../../src/codec/checksum.ts';
import { FRAME_HEADER_BYTES, FRAME_KIND } from '../../../src/record/frame-format.ts';
import { finishFrame, FrameMemory } from '../../../src/record/frame-writer.ts';
import { allocateDoorbell, Doorbell } from '../../../src/ring/doorbell.ts';
import { allocateRing, CONTROL_BYTES, type RingGeometry, slotBase } from '../../../src/ring/geometry.ts';
import { RingProducer, type SealedSlot } from '../../../src/ring/producer.ts';
import { findBlocks } from '../../../src/wal/scan.ts';
import type { ConsumerData } from './consumer.worker.ts';
import type { Access, Order } from './explorer.ts';
import { installGates } from './gate.ts';
import { allocateLockstep, Lockstep, STATE, type State } from './lockstep.ts';

const PRODUCER = 0;
const CONSUMER = 1;
const GEOMETRY: RingGeometry = { slots: 2, slotBytes: 64 * 1024 };
const IDENTITY = { lane: 0, storeId: new Uint8Array(16).fill(7) };
/** The words wrap on the way: the low bits of fillings, and the low 32 bits of blocks. */
const START = { slotSequence: 2 ** 14 - 1, blockSequence: 2 ** 32 - 1 };
const STREAM_ID = 1;
/** What a block leaves at its beginning. */
const HEAD_BYTES = 128;

/**
 * What the producer does: `block` appends a frame and publishes it, `seal` ends the filling, `release` waits until the
 * oldest sealed filling is durable and frees it, `settle` waits until everything is durable.
 */
export type Action = 'block' | 'seal' | 'release' | 'settle';

export interface Scenario {
  readonly actions: readonly Action[];
  /** The disk fails at this write of the worker. */
  readonly failAt?: number;
}

/** Runs a scenario in one order after the other. Returns how many there were; rejects with what is wrong in one. */
export async function explore(scenario: Scenario, orders: Order): Promise<number> {
  await loadChecksum();
  const model = new Model(scenario, orders);
  try {
    return await model.explore();
  } finally {
    await model.close();
  }
}

class Model {
  readonly #scenario: Scenario;
  readonly #ring = allocateRing(GEOMETRY);
  readonly #doorbell = allocateDoorbell();
  readonly #memory = new FrameMemory(this.#ring);
  readonly #lockstep: Lockstep;
  readonly #worker: Worker;
  readonly #orders: Order;
  #consumer: State = STATE.stopped;
  #producerWaitsFor = -1;

  constructor(scenario: Scenario, orders: Order) {
    this.#orders = orders;
    this.#scenario = scenario;
    const lockstep = allocateLockstep();
    this.#lockstep = new Lockstep(lockstep);
    const data: ConsumerData = {
      lane: {
        lane: IDENTITY.lane,
        ring: this.#ring,
        geometry: GEOMETRY,
        start: START,
        nextOffsets: new Float64Array(STREAM_ID + 1),
      },
      doorbell: this.#doorbell,
      lockstep,
      failAt: scenario.failAt ?? -1,
    };
    this.#worker = new Worker(new URL('./consumer.worker.js', import.meta.url), { workerData: data });
  }

  async explore(): Promise<number> {
    await once(this.#worker, 'message');
    do await this.#run();
    while (this.#orders.next());
    return this.#orders.runs;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  async #run(): Promise<void> {
    this.#reset();
    const program = new Program(this.#ring, this.#doorbell, this.#memory, this.#lockstep);
    const answer = once(this.#worker, 'message') as Promise<[{ failure: string | undefined }]>;
    this.#worker.postMessage('run');
    const accesses = installGates([this.#ring, this.#doorbell], {
      pass: (since) => {
        this.#pass(since);
      },
      block: (word, since) => {
        this.#block(word, since);
      },
      notify: (word) => {
        if (this.#consumer === STATE.blocked && this.#lockstep.blockedOn === word) this.#consumer = STATE.stopped;
      },
    });
    try {
      program.run(this.#scenario.actions, () => this.#consumer === STATE.failed);
    } catch (error) {
      accesses();
      throw error;
    }
    this.#orders.record(accesses());
    while (this.#consumer !== STATE.ended && this.#consumer !== STATE.failed) this.#stepConsumer([CONSUMER]);
    const [{ failure }] = await answer;
    if (this.#scenario.failAt === undefined) assert.equal(failure, undefined);
    else assert.match(failure ?? '', /EIO/);
    program.check(failure !== undefined);
  }

  #reset(): void {
    const { bytes } = this.#memory;
    bytes.fill(0, 0, CONTROL_BYTES);
    for (let at = CONTROL_BYTES; at < bytes.length; at += PAGE_BYTES) bytes.fill(0, at, at + HEAD_BYTES);
    new Int32Array(this.#doorbell).fill(0);
    this.#lockstep.reset();
    this.#lockstep.prepare();
    this.#consumer = STATE.stopped;
    // The producer's first step begins before its first gate.
    this.#orders.choose([PRODUCER]);
  }

  /** The producer stops here until it is chosen again. */
  #pass(accesses: readonly Access[]): void {
    this.#orders.record(accesses);
    for (;;) {
      const enabled = this.#consumer === STATE.stopped ? [PRODUCER, CONSUMER] : [PRODUCER];
      if (!this.#stepConsumer(enabled)) return;
    }
  }

  #block(word: number, accesses: readonly Access[]): void {
    this.#orders.record(accesses);
    this.#producerWaitsFor = word;
    // The end of the worker comes as a message, which wakes the producer too.
    while (this.#producerWaitsFor >= 0 && this.#consumer !== STATE.ended && this.#consumer !== STATE.failed) {
      assert.equal(this.#consumer, STATE.stopped, 'a wake-up was lost: both threads wait for the other');
      this.#stepConsumer([CONSUMER]);
    }
    this.#orders.choose([PRODUCER]);
  }

  /** Lets the explorer choose, and the consumer take a step if it is its turn; false when it is the producer's. */
  #stepConsumer(enabled: readonly number[]): boolean {
    assert.ok(
      enabled[0] === PRODUCER || this.#consumer !== STATE.blocked,
      'a wake-up was lost: the worker sleeps and there is work',
    );
    if (this.#orders.choose(enabled) === PRODUCER) return false;
    const { state, accesses } = this.#lockstep.step();
    this.#consumer = state;
    if (this.#lockstep.takeNotified() === this.#producerWaitsFor) this.#producerWaitsFor = -1;
    this.#orders.record(accesses);
    return true;
  }
}

/** The producer's thread. */
class Program {
  readonly #memory: FrameMemory;
  readonly #lockstep: Lockstep;
  readonly #bell: Doorbell;
  readonly #producer: RingProducer;
  readonly #sealed: SealedSlot[] = [];
  readonly #slots = new Map<number, number>();
  #closed: number = START.blockSequence;
  #durable: number = START.blockSequence;
  #offset = 0;
  #workerFailed: () => boolean = () => false;

  constructor(ring: SharedArrayBuffer, doorbell: SharedArrayBuffer, memory: FrameMemory, lockstep: Lockstep) {
    this.#memory = memory;
    this.#lockstep = lockstep;
    this.#bell = new Doorbell(doorbell);
    const released = START.slotSequence - 1;
    this.#producer = new RingProducer(ring, GEOMETRY, IDENTITY, START, released, this.#bell, {
      closing: () => undefined,
      closed: (nextBlock) => {
        this.#closed = nextBlock;
      },
      sealed: (slot) => this.#sealed.push(slot),
    });
    this.#producer.words.reset(START.blockSequence);
  }

  run(actions: readonly Action[], workerFailed: () => boolean): void {
    this.#workerFailed = workerFailed;
    for (const action of actions) {
      if (workerFailed()) break;
      if (action === 'block') this.#block();
      else if (action === 'seal') this.#producer.sealSlot();
      else if (action === 'settle') this.#awaitDurable(this.#closed);
      else this.#release();
    }
    this.#lockstep.askStop();
    this.#bell.ring();
  }

  /** After the worker has ended. */
  check(failed: boolean): void {
    this.#poll();
    if (failed) {
      assert.ok(this.#producer.words.failed, 'a failed worker says so');
      assert.ok(this.#durable < this.#closed, 'what was not written is not durable');
      return;
    }
    assert.equal(this.#durable, this.#closed, 'everything that was closed is durable');
    for (const [slotSequence, blocks] of this.#slots) {
      const base = slotBase(GEOMETRY, slotSequence);
      const image = this.#memory.bytes.subarray(base, base + GEOMETRY.slotBytes);
      const found = findBlocks(image, IDENTITY).filter((block) => block.slotSequence === slotSequence);
      // Of a filling whose slot was given away, the younger one's blocks lie there.
      if (!this.#slots.has(slotSequence + GEOMETRY.slots)) assert.equal(found.length, blocks, 'checksums hold');
    }
  }

  #block(): void {
    const at = this.#producer.reserve(FRAME_HEADER_BYTES);
    assert.ok(at >= 0, 'the model leaves room');
    const end = finishFrame(this.#memory, at, at + FRAME_HEADER_BYTES, {
      streamId: STREAM_ID,
      firstOffset: this.#offset,
      timestamp: 0,
      recordCount: 0,
      offsetSpan: 1,
      epoch: 0,
      userBytes: 0,
      kind: FRAME_KIND.lost,
      flags: 0,
      extensionBytes: 0,
    });
    this.#producer.advance(end);
    this.#offset += 1;
    const { slotSequence } = this.#producer;
    this.#slots.set(slotSequence, (this.#slots.get(slotSequence) ?? 0) + 1);
    this.#producer.closeBlock();
  }

  #release(): void {
    const slot = this.#sealed.shift();
    assert.ok(slot !== undefined, 'the model seals before it releases');
    this.#awaitDurable(slot.lastBlock + 1);
    if (!this.#workerFailed()) this.#producer.release(slot.slotSequence);
  }

  #awaitDurable(nextBlock: number): void {
    this.#poll();
    while (this.#durable < nextBlock && !this.#workerFailed()) {
      void this.#producer.words.waitDurable(this.#durable);
      this.#poll();
    }
  }

  #poll(): void {
    this.#durable = this.#producer.words.durableBlocks(this.#durable);
    const written = START.blockSequence + this.#lockstep.written;
    assert.ok(this.#durable <= written, 'nothing is called durable that is not written');
  }
}
