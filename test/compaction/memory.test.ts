/** What a job holds in memory, and how it reads: bounded buffers, few requests, every byte the right one. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { BufferAccount, InputSource, WindowMemory } from '../../src/compaction/input-source.ts';
import { isInPages } from '../../src/base/page-memory.ts';
import { type ByteRange, planWindows } from '../../src/compaction/input-windows.ts';
import { planJob, readRequests, RUN_READ_BYTES, type Wave, windowsBytesOf } from '../../src/compaction/job-memory.ts';
import { KEY_INDEXES, keyIndexBytes } from '../../src/compaction/key-index.ts';
import type { Layout, LayoutRun } from '../../src/compaction/layout.ts';
import { packLayout, unpackLayout } from '../../src/compaction/layout-message.ts';
import { compactionSettings } from '../../src/compaction/settings.ts';
import { MIB } from '../../src/limits/limits.ts';
import type { ObjectStore } from '../../src/object/object-store.ts';
import { writerMemoryOf } from '../../src/object/s3/options.ts';
import { TRACKING_ENTRY } from '../../src/record/tracking-format.ts';
import { collectGarbage } from '../support/garbage.ts';
import { streamed } from './streamed-store.ts';
import { DAY, keyed, latestOf, plain, World } from './world.ts';

const JOB_BYTES = compactionSettings().jobBytes;

/** Bytes of an object: any two places differ. */
const CONTENT = Uint8Array.from({ length: 16 * MIB }, (_, index) => index * 31 + (index >> 8));

/** Ascending ranges with gaps. */
const ranges: fc.Arbitrary<ByteRange[]> = fc
  .array(
    fc.record({
      gap: fc.oneof(fc.constant(0), fc.nat(5_000), fc.nat(300_000)),
      length: fc.integer({ min: 1, max: 60_000 }),
    }),
    {
      minLength: 1,
      maxLength: 40,
      size: 'max',
    },
  )
  .map((parts) => {
    let end = 64;
    return parts.map(({ gap, length }) => {
      const position = end + gap;
      end = position + length;
      return { position, length };
    });
  });

interface Counted {
  readonly sources: readonly InputSource[];
  readonly account: BufferAccount;
  readonly requests: () => number;
  /** Reads into memory beside the pages of windows. */
  readonly elsewhere: () => number;
  readonly budget: number;
}

/** Inputs with the same runs, in a job with so much memory for windows. */
function inputsOf(runs: readonly ByteRange[], inputs: number, budget: number): Counted {
  const last = runs.at(-1) as ByteRange;
  const bytes = last.position + last.length + 500;
  const content = CONTENT.subarray(0, bytes);
  const account = new BufferAccount();
  let requests = 0;
  let elsewhere = 0;
  const read = async (position: number, length: number, into?: Uint8Array): Promise<Uint8Array> => {
    requests += 1;
    if (into !== undefined && !isInPages(into)) elsewhere += 1;
    await Promise.resolve();
    const bytes = content.subarray(position, position + length);
    if (into === undefined) return bytes.slice();
    assert.equal(into.length, length);
    into.set(bytes);
    return into;
  };
  const plan = planWindows(
    Array.from({ length: inputs }, () => ({ bytes, live: runs })),
    budget,
  );
  const memory = new WindowMemory(plan);
  const sources = plan.inputs.map((input) => new InputSource({ size: bytes, read, plan: input, memory, account }));
  return { sources, account, requests: () => requests, elsewhere: () => elsewhere, budget };
}

/** As a job goes through its inputs: run by run, each of them in all inputs, some of them again. */
async function readAll({ sources }: Counted, runs: readonly ByteRange[], again: number): Promise<void> {
  for (const source of sources) source.begin();
  for (const { position, length } of runs) {
    for (let time = 0; time <= again; time += 1) {
      for (const source of sources) {
        const bytes = await source.sourceFor(length).read(position, length);
        assert.equal(Buffer.compare(bytes, CONTENT.subarray(position, position + length)), 0);
      }
    }
  }
}

suite('the inputs of a job', () => {
  test('are read exactly, forward and again, within the memory for windows', async () => {
    await fc.assert(
      fc.asyncProperty(ranges, fc.integer({ min: 1, max: 9 }), fc.nat(2_000_000), fc.nat(2), async (...drawn) => {
        const [runs, inputs, budget, again] = drawn;
        const counted = inputsOf(runs, inputs, budget);
        await readAll(counted, runs, again);
        assert.ok(counted.account.peak <= budget, `${counted.account.peak} bytes where ${budget} are for windows`);
        for (const source of counted.sources) source.close();
        assert.equal(counted.account.held, 0);
      }),
      { numRuns: 100 },
    );
  });

  test('take one request each where all of them fit into memory', async () => {
    const runs = Array.from({ length: 100 }, (_, index) => ({ position: 64 + index * 80_000, length: 80_000 }));
    const counted = inputsOf(runs, 4, 44 * MIB);
    await readAll(counted, runs, 1);
    assert.equal(counted.requests(), 4);
  });

  test('take few requests, in steps of what memory allows, where they do not', async () => {
    const runs = Array.from({ length: 320 }, (_, index) => ({ position: 64 + index * 25_000, length: 25_000 }));
    const counted = inputsOf(runs, 32, 44 * MIB);
    await readAll(counted, runs, 0);
    const perInput = (320 * 25_000) / ((44 * MIB * 0.8) / 32);
    assert.ok(counted.requests() <= 32 * (perInput + 2), `${counted.requests()} requests of 32 inputs`);
  });

  test('have windows of any size in the pages of the job, and in no memory beside them', async () => {
    // Windows end where runs end: of runs so large none has the size of another.
    const runs: ByteRange[] = [];
    for (let end = 64; end < 8 * MIB;) {
      const length = 30_000 + ((runs.length * 7_919) % 60_000);
      runs.push({ position: end, length });
      end += length;
    }
    const counted = inputsOf(runs, 32, 6 * MIB);
    await readAll(counted, runs, 0);
    assert.ok(counted.requests() > 64 * 32, `${counted.requests()} windows`);
    assert.equal(counted.elsewhere(), 0);
  });

  test('are read side by side: the next window is on its way when the last run of one was used', async () => {
    const runs = [0, 1, 2].map((part) => ({ position: part * 500_000, length: 400_000 }));
    const counted = inputsOf(runs, 8, 4 * MIB);
    for (const source of counted.sources) source.begin();
    for (const [index, { position, length }] of runs.entries()) {
      for (const [place, source] of counted.sources.entries()) {
        await source.read(position, length);
        source.done(position + length);
        assert.equal(counted.requests(), 8 * (index + 1) + (index === 2 ? 0 : place + 1));
      }
    }
    assert.ok(counted.account.peak <= counted.budget);
  });

  test('skip what is dead between their runs', () => {
    const live = [0, 1, 2].map((part) => ({ position: part * MIB, length: 1_000 }));
    const [plan] = planWindows([{ bytes: 16 * MIB, live }], 64 * MIB).inputs;
    assert.deepEqual([plan?.windows, plan?.whole], [live, false]);
  });

  test('leave what small ones do not need to the others', () => {
    const live = [{ position: 64, length: 1_000 }];
    const { inputs } = planWindows(
      [4_096, 4_096, 4_096, 64 * MIB].map((bytes) => ({ bytes, live })),
      10 * MIB,
    );
    assert.deepEqual(
      inputs.map(({ windowBytes }) => windowBytes),
      [4_096, 4_096, 4_096, 2 * MIB],
    );
  });

  test('have memory that leaves room for everything else', () => {
    for (const outputs of [0, 1, 5, 100]) {
      for (const keyBytes of [0, 33 * MIB])
        assert.ok(windowsBytesOf(JOB_BYTES, outputs, keyBytes) < JOB_BYTES - 2 * RUN_READ_BYTES);
    }
  });
});

/** Counts requests and the bytes that are on their way. */
function counted(inner: ObjectStore): { readonly store: ObjectStore; readonly requests: () => number } {
  let requests = 0;
  const store = new Proxy(inner, {
    get(target, name): unknown {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      if (name === 'read') requests += 1;
      return (value as (...values: unknown[]) => unknown).bind(target);
    },
  });
  return { store, requests: () => requests };
}

interface JobShape {
  readonly inputs: number;
  readonly classes: number;
  readonly streams: number;
  readonly runBytes: number;
  readonly keyed: boolean;
  /** An output of a class that has so much is followed by another one. Default: it takes all. */
  readonly outputBytes?: number;
  /** Of how many classes a stream is, one behind the other. Default 1. */
  readonly spread?: number;
}

/** A job whose streams lie in all inputs, and belong to so many classes in turn. */
function jobOf({ inputs, classes, streams, runBytes, keyed, outputBytes = Infinity, spread = 1 }: JobShape): {
  readonly layout: Layout;
  readonly inputs: readonly { readonly key: string; readonly bytes: number }[];
} {
  const keys = Array.from({ length: inputs }, (_, index) => `input-${index}`);
  const outputs: { generation: number; runs: LayoutRun[] }[] = [];
  const current: { output: number; bytes: number }[] = [];
  const outputFor = (className: number): number => {
    const place = current[className];
    if (place !== undefined && place.bytes < outputBytes) {
      place.bytes += runBytes;
      return place.output;
    }
    current[className] = { output: outputs.push({ generation: 1, runs: [] }) - 1, bytes: runBytes };
    return outputs.length - 1;
  };
  for (let stream = 0; stream < streams; stream += 1) {
    const place = {
      byteOffset: 64 + stream * runBytes,
      byteLength: runBytes,
      chunks: 1,
      records: 1_000,
      tracking: false,
    };
    const runs = new Map<number, LayoutRun['parents'][number][]>();
    for (const [input, objectKey] of keys.entries()) {
      const firstOffset = input * 1_000;
      const offsets = { firstOffset, nextOffset: firstOffset + 1_000, endOffset: firstOffset + 1_000 };
      const output = outputFor((stream + Math.floor((input * spread) / inputs)) % classes);
      runs.set(output, [...(runs.get(output) ?? []), { objectKey, ...place, ...offsets }]);
    }
    for (const [output, parents] of runs) {
      const firstOffset = parents[0]?.firstOffset ?? 0;
      outputs[output]?.runs.push({
        streamId: stream + 1,
        firstOffset,
        nextOffset: parents.at(-1)?.nextOffset ?? 0,
        visibleFrom: firstOffset,
        snapshot: false,
        compression: 'lz4',
        keys: keyed ? 'latest' : 'all',
        parents,
      });
    }
  }
  return {
    layout: { outputs, dropped: [] },
    inputs: keys.map((key) => ({ key, bytes: 4_096 + streams * runBytes })),
  };
}

/** What the writers of a wave hold at a time, at most: each from the first run of its output to the last one. */
function writersOf({ outputs }: Layout, wave: Wave<unknown>): number {
  const runs = wave.outputs.flatMap((output, place) =>
    (outputs[output]?.runs ?? []).map(({ streamId, firstOffset }) => ({ streamId, firstOffset, place })),
  );
  runs.sort((left, right) => left.streamId - right.streamId || left.firstOffset - right.firstOffset);
  const open = new Set<number>();
  let most = 0;
  for (const [index, { place }] of runs.entries()) {
    open.add(place);
    most = Math.max(
      most,
      [...open].reduce((sum, one) => sum + (wave.writerBytes[one] ?? 0), 0),
    );
    if (!runs.slice(index + 1).some((later) => later.place === place)) open.delete(place);
  }
  return most;
}

/** Streams with keys that go through many classes can take more memory than there is: a test of its own. */
const jobs: fc.Arbitrary<JobShape> = fc
  .record({
    inputs: fc.integer({ min: 1, max: 128 }),
    classes: fc.integer({ min: 1, max: 8 }),
    streams: fc.integer({ min: 1, max: 40 }),
    runBytes: fc.integer({ min: 100, max: 8 * MIB }),
    keyed: fc.boolean(),
    outputBytes: fc.constantFrom(Infinity, 256 * MIB, 32 * MIB),
    spread: fc.constantFrom(1, 2),
  })
  .map((shape) => (shape.keyed ? { ...shape, classes: shape.spread === 1 ? shape.classes : 2 } : shape));

suite('a job on a store where requests cost something', () => {
  const store = { writerMemory: writerMemoryOf({}), stream: true };

  test('stays within its memory whatever it is, and writes each output once', () => {
    fc.assert(
      fc.property(jobs, (shape) => {
        const { layout, inputs } = jobOf(shape);
        const waves = planJob(layout, inputs, JOB_BYTES, store);
        for (const wave of waves) {
          const { heldBytes, writerBytes } = wave;
          assert.ok(heldBytes <= JOB_BYTES, `${heldBytes} bytes`);
          for (const bytes of writerBytes) assert.ok((bytes ?? 0) >= store.writerMemory.least);
          assert.ok(writersOf(layout, wave) < heldBytes);
        }
        const written = waves.flatMap(({ outputs }) => outputs).sort((left, right) => left - right);
        assert.deepEqual(written, [...layout.outputs.keys()]);
      }),
      { numRuns: 200 },
    );
  });

  test('writes a large stream that takes many outputs one output after the other', () => {
    for (const keyed of [false, true]) {
      const shape = { inputs: 8, classes: 1, streams: 1, runBytes: 100 * MIB, keyed, outputBytes: 100 * MIB };
      const { layout, inputs } = jobOf(shape);
      assert.equal(layout.outputs.length, 8);
      const waves = planJob(layout, inputs, JOB_BYTES, store);
      assert.equal(waves.length, 1);
      assert.ok(waves.every((wave) => wave.heldBytes <= JOB_BYTES && writersOf(layout, wave) < wave.heldBytes));
    }
  });

  test('takes the least it can do with where no plan stays within its memory, and keeps keys together', () => {
    for (const keyed of [false, true]) {
      const shape = { inputs: 8, classes: 12, streams: 24, runBytes: MIB, keyed, spread: 8 };
      const { layout, inputs } = jobOf(shape);
      const waves = planJob(layout, inputs, JOB_BYTES, store);
      assert.equal(waves.length, keyed ? 1 : layout.outputs.length);
      for (const wave of waves) {
        assert.equal(wave.reading, 'runs');
        const most = keyed ? layout.outputs.length * 6 * MIB + JOB_BYTES : JOB_BYTES;
        assert.ok(wave.heldBytes <= most && writersOf(layout, wave) < wave.heldBytes, `${wave.heldBytes} bytes`);
      }
    }
  });

  test('holds every output of a usual merge whole, a few at a time, and reads each input once for each of them', () => {
    const { layout, inputs } = jobOf({ inputs: 16, classes: 8, streams: 312, runBytes: 27_000, keyed: false });
    const waves = planJob(layout, inputs, JOB_BYTES, store);
    assert.equal(waves.length, 4);
    for (const wave of waves) {
      assert.deepEqual([wave.reading, wave.outputs.length, readRequests(wave)], ['streams', 2, 16]);
      for (const [place, bytes] of wave.writerBytes.entries())
        assert.ok((wave.outputBytes[place] ?? 0) <= (bytes ?? 0));
    }
  });

  test('keeps all runs of a stream in one wave: what stays of a key depends on all of them', () => {
    const { layout, inputs } = jobOf({ inputs: 8, classes: 8, streams: 8, runBytes: 2 * MIB, keyed: true });
    const shared = layout.outputs.map(({ runs, generation }, index) => ({
      generation,
      runs: index === 0 ? runs : [...runs.map((run) => ({ ...run, streamId: index < 4 ? 1 : 9 }))],
    }));
    const waves = planJob({ outputs: shared }, inputs, JOB_BYTES, store);
    const ofStream = (streamId: number): number[] =>
      waves.flatMap(({ outputs }, wave) =>
        outputs.some((output) => shared[output]?.runs.some((run) => run.streamId === streamId)) ? [wave] : [],
      );
    assert.equal(ofStream(1).length, 1);
    assert.equal(ofStream(9).length, 1);
  });

  test('writes the same records, with one stream for each input in each wave', async () => {
    const world = await World.open();
    const store = streamed(world.memory);
    world.objects = store;
    const kinds = [{}, { cleanup: 'compact' as const }, { deletionDeadline: DAY }];
    const ids = await Promise.all(kinds.map((config, index) => world.stream(`s${index}`, config)));
    const tracking = [{ type: TRACKING_ENTRY.offset, reference: 'reader', offset: 3 }];
    for (let index = 0; index < 5; index += 1) {
      await world.append(...ids.map((streamId) => ({ streamId, records: keyed(2_000, 40), tracking })));
    }
    const before = await Promise.all(ids.map((id) => world.read(id)));
    await world.agent().compact({ force: true });
    for (const [index, id] of ids.entries()) {
      const records = before[index] ?? [];
      assert.deepEqual(await world.read(id), index === 1 ? latestOf(records) : records);
    }
    await world.check();
    const written = store.peak.writerBytes;
    assert.ok(
      store.requests.streams >= 5 && written <= JOB_BYTES,
      `${store.requests.streams} streams, ${written} bytes`,
    );
  });
});

suite('a job', () => {
  test('lets go of the index of keys before a wave without keys: its writers were given that memory', async () => {
    const world = await World.open();
    const store = streamed(world.memory);
    const held: number[] = [];
    world.objects = {
      ...store,
      create: async (...object) => {
        collectGarbage();
        // What the stack still names is free a turn later, and buffers are swept by another thread.
        await nextTurn();
        collectGarbage();
        held.push(process.memoryUsage().arrayBuffers);
        return store.create(...object);
      },
    };
    const ids = [await world.stream('keyed', { cleanup: 'compact' }), await world.stream('plain')];
    for (let index = 0; index < 3; index += 1) {
      await world.append(...ids.map((streamId, place) => ({ streamId, records: keyed(place === 0 ? 400 : 10, 200) })));
    }
    // Planners of today leave keyed streams among themselves: here the merge is to compact one. Room for one output.
    const keysOf = (run: LayoutRun): LayoutRun =>
      run.streamId === ids[0] ? { ...run, keys: 'latest', parents: run.parents } : run;
    world.threads = (job) => {
      const { outputs } = unpackLayout(job.layout);
      const layout = packLayout({ outputs: outputs.map((output) => ({ ...output, runs: output.runs.map(keysOf) })) });
      return world.rewrite({ ...job, layout, memoryBytes: 50 * MIB });
    };
    await world.agent().compact({ force: true });
    assert.equal(world.jobs[0]?.result.outputs.length, 2);
    const [withKeys = 0, without = 0] = held;
    const index = keyIndexBytes(KEY_INDEXES[0]);
    assert.ok(withKeys - without > index / 2, `${withKeys} and then ${without} bytes, with an index of ${index}`);
    await world.check();
  });

  test('that writes more than its inputs hold, since they were compressed, is taken by S3', async () => {
    const world = await World.open();
    const store = streamed(world.memory);
    world.objects = store;
    const streamId = await world.stream('s', { compression: 'none' });
    const records = Array.from({ length: 200 }, () => ({ value: 'the same again '.repeat(60) }));
    for (let index = 0; index < 3; index += 1) await world.append({ streamId, records, compression: 'lz4' });
    const before = await world.read(streamId);
    await world.agent().compact({ force: true });
    const { readBytes, writtenBytes } = world.jobs[0]?.result.counters ?? { readBytes: 0, writtenBytes: 0 };
    assert.ok(writtenBytes > 4 * readBytes && writtenBytes < 5 * MIB, `${readBytes} bytes became ${writtenBytes}`);
    assert.deepEqual(await world.read(streamId), before);
    await world.check();
  });

  test('holds the same little memory whatever its inputs hold', async () => {
    const peaks: number[] = [];
    const value = 'incompressible, for all this stream knows '.repeat(3_000);
    for (const records of [100, 200]) {
      const world = await World.open();
      const large = await world.stream('large', { compression: 'none' });
      const small = await world.stream('small');
      for (let index = 0; index < 3; index += 1) {
        await world.append(
          { streamId: large, records: Array.from({ length: records }, () => ({ value })), compression: 'none' },
          { streamId: small, records: plain(50) },
        );
      }
      await world.agent().compact({ force: true });
      const { peakBufferedBytes, readBytes } = world.jobs[0]?.result.counters ?? { peakBufferedBytes: 0, readBytes: 0 };
      assert.ok(readBytes > 3 * records * value.length, `${readBytes} bytes were read`);
      assert.ok(
        peakBufferedBytes <= windowsBytesOf(JOB_BYTES, 1, 0) + 2 * RUN_READ_BYTES,
        `${peakBufferedBytes} bytes`,
      );
      peaks.push(peakBufferedBytes);
    }
    assert.ok((peaks[1] as number) <= (peaks[0] as number) * 1.01, `${peaks.join()}: twice the input`);
  });

  test('asks for parts of objects, not for every run', async () => {
    const world = await World.open();
    const names = Array.from({ length: 300 }, (_, index) => `s${index}`);
    const ids = await Promise.all(
      names.map((name, index) => world.stream(name, index % 2 === 0 ? { cleanup: 'compact' } : {})),
    );
    for (let index = 0; index < 6; index += 1) {
      await world.append(...ids.map((streamId) => ({ streamId, records: keyed(10, 3) })));
    }
    const before = await Promise.all(ids.map((id) => world.read(id)));
    const { store, requests } = counted(world.memory);
    world.objects = store;
    await world.agent().compact({ force: true });
    assert.ok(requests() <= 12, `${requests()} requests for 1,800 runs`);
    for (const [index, id] of ids.entries()) {
      const records = before[index] ?? [];
      assert.deepEqual(await world.read(id), index % 2 === 0 ? latestOf(records) : records);
    }
    await world.check();
  });
});
