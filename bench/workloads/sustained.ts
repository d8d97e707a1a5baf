/** Ingest for as long as it takes to fill the ring many times: the flush has to keep up, in bounded memory. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { KIB, MIB, SLOT_BYTES_DEFAULT, SLOTS_DEFAULT } from '../../src/limits/limits.ts';
import { runClosedLoop } from '../closed-loop.ts';
import { Floor } from '../floor.ts';
import { recordGroups, recordPool } from '../../src/cli/load/records.ts';
import { takeTurns, type Series, type Session, type Setting, type Values, type Workload } from '../workload.ts';
import { openStream } from './sizes.ts';

const RECORD_BYTES = KIB;
const GROUP_RECORDS = 1_024;
/** Calls of `appendMany` in flight: the log always finds work. */
const WINDOW = 8;
const RING_BYTES = SLOTS_DEFAULT * SLOT_BYTES_DEFAULT;
/** The floor's rate does not change with time, so it is measured on less. */
const FLOOR_BYTES_MAX = 1_024 * MIB;
const SAMPLE_INTERVAL = 50;
const NANOSECONDS_PER_MILLISECOND = 1e6;
const MILLION = 1e6;

export const sustained: Workload = {
  name: 'sustained',
  what: 'appendMany of 1 KiB records, 8 calls in flight, while the flush compresses with LZ4 and writes segments',
  floor: 'copies 1 MiB, overwrites and syncs it, and so on',
  figures: [
    { name: 'bytes', unit: 'bytes/s', better: 'higher', target: ratioAtLeast(0.35, 0.4) },
    { name: 'rate', unit: 'records/s', better: 'higher' },
    {
      name: 'peak memory',
      unit: 'bytes',
      better: 'lower',
      target: { subject: 'value', bound: 'at most', limit: RING_BYTES + 200 * MIB },
    },
    {
      name: 'event-loop delay p99',
      unit: 'ms',
      better: 'lower',
      target: { subject: 'value', bound: 'at most', limit: 10 },
    },
    {
      name: 'processor time a million records',
      unit: 'seconds',
      better: 'lower',
      target: { subject: 'value', bound: 'at most', limit: 1 },
    },
  ],
  roundsMax: 3,
  prepare,
};

function ratioAtLeast(limit: number, goal: number): NonNullable<Workload['figures'][number]['target']> {
  return { subject: 'ratio', bound: 'at least', limit, goal };
}

async function prepare(setting: Setting): Promise<Session> {
  const { store, stream } = await openStream(setting);
  const floor = new Floor(setting.dir);
  const pool = recordPool(RECORD_BYTES);
  const groups = recordGroups(pool, GROUP_RECORDS);
  const groupBytes = GROUP_RECORDS * RECORD_BYTES;
  const warmUp = { calls: Math.ceil(Math.min(setting.sustainedBytes / 8, 4 * RING_BYTES) / groupBytes) };
  let calls = warmUp.calls;
  let memory = new MemoryCurve(0);

  const millrace = async (): Promise<Values> => {
    memory = new MemoryCurve(groupBytes);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    const processor = process.cpuUsage();
    delay.enable();
    memory.start();
    const { seconds } = await runClosedLoop({
      window: WINDOW,
      count: calls,
      append: async (index) => {
        await stream.appendMany(groups[index % groups.length]!);
        memory.add();
      },
    });
    memory.stop();
    delay.disable();
    await store.flush();
    return {
      ...valuesOf(calls, seconds, process.cpuUsage(processor)),
      'peak memory': memory.peakBytes,
      'event-loop delay p99': delay.percentile(99) / NANOSECONDS_PER_MILLISECOND,
    };
  };
  const round = takeTurns(() => {
    const floorCalls = Math.min(calls, Math.ceil(FLOOR_BYTES_MAX / groupBytes));
    const processor = process.cpuUsage();
    const { seconds } = floor.burst(pool, floorCalls * GROUP_RECORDS);
    return valuesOf(floorCalls, seconds, process.cpuUsage(processor));
  }, millrace);
  return {
    round: async () => {
      const values = await round();
      calls = Math.ceil(setting.sustainedBytes / groupBytes);
      return values;
    },
    series: () => memory.series(),
    close: async () => {
      floor.close();
      await store.close();
    },
  };
}

function valuesOf(calls: number, seconds: number, processor: NodeJS.CpuUsage): Values {
  const records = calls * GROUP_RECORDS;
  const processorSeconds = (processor.user + processor.system) / 1e6;
  return {
    bytes: (records * RECORD_BYTES) / seconds,
    rate: records / seconds,
    'processor time a million records': processorSeconds / (records / MILLION),
  };
}

/** Resident memory of the process, and what was acknowledged, over time. */
class MemoryCurve {
  readonly #groupBytes: number;
  readonly #rows: number[][] = [];
  #begun = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  peakBytes = 0;

  constructor(groupBytes: number) {
    this.#groupBytes = groupBytes;
  }

  start(): void {
    this.#begun = performance.now();
    this.#timer = setInterval(() => this.#sample(), SAMPLE_INTERVAL);
    this.#sample();
  }

  add(): void {
    this.#bytes += this.#groupBytes;
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#sample();
  }

  series(): Series {
    return { name: 'memory', columns: ['seconds', 'resident bytes', 'acknowledged bytes'], rows: this.#rows };
  }

  #sample(): void {
    const resident = process.memoryUsage.rss();
    this.peakBytes = Math.max(this.peakBytes, resident);
    const seconds = Math.round(performance.now() - this.#begun) / 1_000;
    this.#rows.push([seconds, resident, this.#bytes]);
  }
}
