/**
 * Several clients without threads write to one store over an object store and a coordinator that are not to be relied
 * on, and are killed in the middle of it. Afterwards the ways are healed, and what is there is held against what the
 * clients were told.
 */
import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SeededRandom } from '../../src/base/random.ts';
import type { Coordinator } from '../../src/coordinator/coordinator.ts';
import { openEmbeddedCoordinator } from '../../src/coordinator/embedded-coordinator.ts';
import { isMillraceError, type OpenOptions, type Store } from '../../src/index.ts';
import { MemoryObjectStore } from '../../src/object/memory-object-store.ts';
import type { ObjectStore } from '../../src/object/object-store.ts';
import { RetryingObjectStore } from '../../src/object/retrying-object-store.ts';
import { openIn } from '../../src/store/open.ts';
import { SimulatedDisk } from '../../src/testing/disk/simulated-disk.ts';
import { coordinatorBehind } from '../../src/testing/faulty-coordinator.ts';
import { FaultyObjectStore, type ObjectFault } from '../../src/testing/faulty-object-store.ts';
import { type RingSupply, SimulatedEnvironment } from '../../src/testing/simulated-environment.ts';
import { SimulatedTime } from '../../src/testing/simulated-time.ts';
import { type FaultRates, type ServiceFault, UnreliableService } from '../../src/testing/unreliable-service.ts';
import { settle } from './worker.ts';

const STREAMS: readonly string[] = ['left', 'right'];
const CLIENTS = 3;
const STORE_ID = new Uint8Array(16).fill(7);
/** Milliseconds after which reservations, leases and graces have ended. */
const LONG = 3 * 3_600_000;

/** What was asked for, and what was answered. */
class Book {
  /** By stream and value: the place it was said to have, if any. */
  readonly sent: ReadonlyMap<string, Map<string, number | undefined>> = new Map(
    STREAMS.map((name) => [name, new Map()]),
  );
  readonly trimmedTo: Map<string, number> = new Map();

  of(stream: string): Map<string, number | undefined> {
    const sent = this.sent.get(stream);
    assert.ok(sent !== undefined);
    return sent;
  }
}

class World {
  readonly time = new SimulatedTime();
  readonly objects = new MemoryObjectStore(this.time);
  readonly random: SeededRandom;
  readonly rings: RingSupply;
  coordinator: Coordinator | undefined;

  constructor(seed: number, rings: RingSupply) {
    this.random = new SeededRandom(seed);
    this.rings = rings;
  }

  async start(): Promise<void> {
    const { time, random } = this;
    const fileSystem = new SimulatedDisk({ directories: ['/service'] });
    const directory = '/service/manifest';
    this.coordinator = await openEmbeddedCoordinator({ fileSystem, directory, storeId: STORE_ID, clock: time, random });
  }

  later = (work: () => void): void => {
    if (this.random.below(2) === 0) setImmediate(work);
    else this.time.after(this.random.below(5_000), work);
  };
}

/** A process that has the store open. */
class Client {
  readonly name: string;
  readonly environment: SimulatedEnvironment;
  readonly #world: World;
  readonly #book: Book;
  readonly #services: { cut(): void; setRates(rates: object): void }[] = [];
  readonly #rates: FaultRates<ObjectFault>;
  #store: Store | undefined;
  #values = 0;
  readonly #nextIds = new Map<string, number>();

  constructor(name: string, world: World, book: Book, rates: FaultRates<ObjectFault>) {
    this.name = name;
    this.#world = world;
    this.#book = book;
    this.#rates = rates;
    this.environment = new SimulatedEnvironment({
      fileSystem: new SimulatedDisk(),
      time: world.time,
      seed: world.random.uint32(),
      rings: world.rings,
      openObjects: () => Promise.resolve(this.#openObjects()),
    });
  }

  async open(): Promise<Store> {
    const { coordinator, random, later, time } = this.#world;
    assert.ok(coordinator !== undefined);
    const service = new UnreliableService<ServiceFault>(random, this.#rates, later);
    this.#services.push(service);
    const options: OpenOptions = {
      wal: false,
      diskless: { slots: 2, slotBytes: 64 * 1024 },
      compaction: false,
      objects: { descriptor: { module: 'simulated', options: {} }, open: () => Promise.resolve(this.#openObjects()) },
      coordinator: { open: () => Promise.resolve(coordinatorBehind(coordinator, service)) },
    };
    for (;;) {
      try {
        this.#store = await settle(time, openIn(this.environment, options));
        return this.#store;
      } catch (error) {
        if (!isMillraceError(error, 'ERR_MILLRACE_UNAVAILABLE')) throw error;
      }
    }
  }

  /** Starts one thing to do; resolves when it has ended, however. */
  async act(draw: number): Promise<void> {
    const { random } = this.#world;
    const store = this.#store;
    assert.ok(store !== undefined);
    const name = STREAMS[random.below(STREAMS.length)] as string;
    try {
      const stream = await store.stream(name);
      if (draw < 40) await this.#append(name, 1);
      else if (draw < 55) await this.#append(name, 2 + random.below(5));
      else if (draw < 75) await this.#publish(name);
      else if (draw < 82) await store.flush();
      else if (draw < 90) await store.compact({ force: true });
      else if (draw < 95) {
        const { firstOffset, nextOffset } = await stream.info();
        const before = firstOffset + random.below(1 + Math.floor((nextOffset - firstOffset) / 2));
        const { trimmedTo } = this.#book;
        trimmedTo.set(name, Math.max(trimmedTo.get(name) ?? 0, before));
        await stream.trim(before);
      } else {
        const { durableOffset } = await stream.info();
        if (durableOffset > 0) await stream.storeOffset('consumer', durableOffset - 1, { durable: true });
      }
    } catch (error) {
      if (!isMillraceError(error) || error.code === 'ERR_MILLRACE_WORKER_DIED') throw error;
    }
  }

  async #append(stream: string, count: number): Promise<void> {
    const sent = this.#book.of(stream);
    const group = `${this.name}-${(this.#values += 1)}`;
    const values = Array.from({ length: count }, (_, index) => `${group} ${index} ${count}`);
    for (const value of values) sent.set(value, undefined);
    const handle = await this.#handle(stream);
    const first = await (count === 1 ? handle.append(values[0] ?? '') : handle.appendMany(values));
    values.forEach((value, index) => sent.set(value, first + index));
  }

  /** Sends an id, and the same again where its fate is not known. */
  async #publish(stream: string): Promise<void> {
    const sent = this.#book.of(stream);
    const id = this.#nextIds.get(stream) ?? 0;
    this.#nextIds.set(stream, id + 1);
    const value = `${this.name}-p ${id} published`;
    sent.set(value, sent.get(value));
    const publisher = (await this.#handle(stream)).publisher(this.name);
    for (let attempt = 0; attempt < 3; attempt += 1) {
      try {
        const { offset, duplicate } = await publisher.append(id, value);
        if (attempt === 0) assert.ok(!duplicate, 'what was never sent is no duplicate');
        if (offset !== undefined) sent.set(value, offset);
        return;
      } catch (error) {
        if (!isMillraceError(error) || !error.retryable) throw error;
      }
    }
  }

  #handle(name: string): ReturnType<Store['stream']> {
    assert.ok(this.#store !== undefined);
    return this.#store.stream(name);
  }

  heal(): void {
    for (const service of this.#services) service.setRates({});
  }

  /** Ends in the middle of everything: nothing it still sends arrives, but what is under way does. */
  kill(): void {
    for (const service of this.#services) service.cut();
    this.environment.dispose();
  }

  async close(): Promise<void> {
    if (this.#store !== undefined) await settle(this.#world.time, this.#store.close());
    this.environment.dispose();
  }

  #openObjects(): ObjectStore {
    const { objects, random, later, time } = this.#world;
    const faulty = new FaultyObjectStore(objects, random, this.#rates, later);
    this.#services.push(faulty.service);
    const { timers } = this.environment;
    const sleep = (milliseconds: number, signal?: AbortSignal): Promise<void> => timers.sleep(milliseconds, signal);
    return new RetryingObjectStore(faulty, { environment: { clock: time, random, sleep } });
  }
}

export interface SharedCase {
  readonly seed: number;
  readonly steps: number;
  readonly rings: RingSupply;
}

/** Rejects with what is wrong. Resolves with how many records were acknowledged. */
export async function runSharedCase({ seed, steps, rings }: SharedCase): Promise<number> {
  const world = new World(seed, rings);
  const { random, time } = world;
  await world.start();
  const book = new Book();
  const rate = [0, 0.02, 0.1][random.below(3)] ?? 0;
  const rates: FaultRates<ObjectFault> = {
    unavailable: rate,
    throttled: rate / 2,
    lost: rate / 2,
    timeoutAfterSuccess: rate,
    duplicated: rate,
    late: rate / 2,
    unconfirmed: rate,
    shortBody: rate / 4,
  };
  let born = 0;
  const begin = async (): Promise<Client> => {
    const client = new Client(`client${(born += 1)}`, world, book, rates);
    await client.open();
    return client;
  };
  const clients: Client[] = [];
  while (clients.length < CLIENTS) clients.push(await begin());
  const acts = new Map<Client, Promise<unknown>[]>();
  for (let step = 0; step < steps; step += 1) {
    const index = random.below(CLIENTS);
    const client = clients[index] as Client;
    const draw = random.below(110);
    if (draw >= 105) {
      client.kill();
      acts.delete(client);
      clients[index] = await begin();
    } else if (draw >= 100) {
      time.advance(random.below(2_000));
    } else {
      const act = client.act(draw);
      if (random.below(2) === 0) await settle(time, act);
      else acts.set(client, [...(acts.get(client) ?? []), act]);
    }
    if (random.below(3) === 0) await nextTurn();
  }
  for (const client of clients) client.heal();
  await settle(time, Promise.all([...acts.values()].flat()));
  for (const client of clients) await client.close();
  return checkShared(world, book);
}

async function checkShared(world: World, book: Book): Promise<number> {
  const { time, objects, coordinator } = world;
  assert.ok(coordinator !== undefined);
  // Whatever is late arrives, and whatever was begun by the dead ends.
  for (let turn = 0; turn < 10; turn += 1) {
    time.advance(1_000);
    await nextTurn();
  }
  const client = new Client('judge', world, book, {});
  const store = await client.open();
  let acknowledged = 0;
  for (const name of STREAMS) acknowledged += await checkStream(store, world, name, book);
  assert.deepEqual((await settle(time, store.verify())).problems, []);
  time.passAtOnce(LONG);
  await settle(time, store.compact({ force: true }));
  time.passAtOnce(LONG);
  await settle(time, store.compact({ force: true }));
  const stored: string[] = [];
  for await (const { key } of objects.list()) stored.push(key);
  const committed = (await coordinator.listObjects({ state: 'committed' })).map(({ key }) => key);
  assert.deepEqual(stored, committed, 'what is stored is what is committed');
  await client.close();
  return acknowledged;
}

async function checkStream(store: Store, { time }: World, name: string, book: Book): Promise<number> {
  const sent = book.of(name);
  const stream = await settle(time, store.stream(name));
  const { firstOffset, nextOffset } = await settle(time, stream.info());
  assert.ok(firstOffset <= (book.trimmedTo.get(name) ?? 0), `${name}: starts at ${firstOffset}`);
  const values: string[] = [];
  const read = async (): Promise<void> => {
    for await (const { offset, value } of stream.read()) {
      assert.equal(offset, firstOffset + values.length, `${name}: offsets are dense`);
      values.push(value?.toString() ?? '');
    }
  };
  await settle(time, read());
  assert.equal(firstOffset + values.length, nextOffset);
  assert.equal(new Set(values).size, values.length, `${name}: each record is there once`);
  const published = new Map<string, number>();
  values.forEach((value, index) => {
    assert.ok(sent.has(value), `${name}: ${value} was never sent`);
    const [group = '', at = '', count = ''] = value.split(' ');
    if (count === 'published') {
      assert.ok(Number(at) > (published.get(group) ?? -1), `${name}: ids of ${group} ascend`);
      published.set(group, Number(at));
    } else if (index + 1 < values.length && Number(at) + 1 < Number(count)) {
      assert.equal(values[index + 1], `${group} ${Number(at) + 1} ${count}`, `${name}: ${group} is torn`);
    }
  });
  let acknowledged = 0;
  for (const [value, offset] of sent) {
    if (offset === undefined) continue;
    acknowledged += 1;
    if (offset >= firstOffset) assert.equal(values[offset - firstOffset], value, `${name}: ${offset} was acknowledged`);
  }
  return acknowledged;
}
