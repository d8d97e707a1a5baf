/**
 * How a job uses its memory, and in which order it writes its outputs. Pure: the executor follows it, and the
 * simulation counts requests by it.
 *
 * Where a request costs nothing, in a directory, inputs are read in windows and all outputs are written at once. Where
 * it does, inputs are streams, one request each; and what is dear are parts: so outputs are written in waves, few at a
 * time, each whole in memory where it fits. Inputs are read once for each wave.
 */
import { required } from '../base/assert.ts';
import { PAGE_BYTES } from '../base/bytes.ts';
import { KIB, MIB } from '../limits/limits.ts';
import type { WriterMemory } from '../object/object-store.ts';
import { type InputPlan, liveRanges, planWindows, type ByteRange, type WindowsPlan } from './input-windows.ts';
import { KEY_INDEXES, keyIndexBytes, type KeyIndexLimits } from './key-index.ts';
import type { LayoutOutput, LayoutOutputs, LayoutRun } from './layout.ts';
import { inputsAtOnce, openAtOnce } from './schedule.ts';
import { cleanBytesOf } from './view.ts';

/** One request of a run that is larger than its input's window; twice as much is in memory. */
export const RUN_READ_BYTES: number = 4 * MIB;
/** One piece of a stream; two are in memory. */
export const STREAM_READ_BYTES: number = 128 * KIB;
/** With what its connection holds. */
const STREAM_BYTES: number = 3 * STREAM_READ_BYTES;
/**
 * Of each read of a socket Node copies what is body, and leaves the read to the collector. That much is in the rest for
 * the streams of a usual job; of more streams each has more on its way, measured with 32.
 */
const USUAL_STREAMS = 16;
const MORE_STREAM_BYTES: number = 2 * STREAM_READ_BYTES;
/** Two buffers of segment output for each output that is open, and the same where the writer holds what it is given. */
const OUTPUT_BYTES: number = 2 * MIB;
const HELD_OUTPUT_BYTES: number = 256 * KIB;
/** Runs that are read for their keys or tracking, before they are read in their turn: two reads. */
export const AHEAD_READ_BYTES: number = MIB;
/** Chunks in the making, the heap, and memory given back and not collected yet: measured as growth of the process. */
const REST_BYTES: number = 24 * MIB;
/**
 * What an input run takes beside that, in the thread of the store and in that of the job, measured as well. Windows
 * give way to it: where runs are many they are small, and what is read at once has thousands of them all the same.
 */
const RUN_BYTES = 384;
const WINDOWS_BYTES_MIN: number = 4 * MIB;
/** By list prices a PUT costs what 12.5 GETs cost, and a MiB more to read, in a worker's time, a fourteenth of one. */
const PUT_WEIGHT = 12.5;
const READ_WEIGHT: number = 1 / 14 / MIB;

/** Connections of one job, beside those that send parts. */
const STREAMS_MAX = 100;

interface CommittedInput {
  readonly key: string;
  readonly bytes: number;
}

/** An input that is read, and how. */
export interface PlannedInput<Input> {
  readonly input: Input;
  /** Its runs that are read, by position. */
  readonly live: readonly ByteRange[];
  /** Its windows; without them it is a stream, or read run by run. */
  readonly plan: InputPlan | undefined;
}

/** Outputs that are written side by side, in one pass over the inputs that they need. */
export interface Wave<Input> {
  /** Numbers of outputs of the layout. */
  readonly outputs: readonly number[];
  readonly inputs: readonly PlannedInput<Input>[];
  /** Of all memory of the job; the largest single chunk comes on top. */
  readonly heldBytes: number;
  readonly reading: 'windows' | 'streams' | 'runs';
  /** All inputs are needed at once: their first requests are sent together. */
  readonly together: boolean;
  readonly windows: WindowsPlan | undefined;
  /** The largest index of keys that there is memory for. */
  readonly keyIndex: KeyIndexLimits;
  /** What the writer of each output may hold; `undefined` where writers hold nothing. */
  readonly writerBytes: readonly (number | undefined)[];
  /** What each output is expected to have. It has more where chunks were compressed that are not any more. */
  readonly outputBytes: readonly number[];
}

/** Outputs that are written in one wave. */
interface Group {
  readonly outputs: number[];
  /** Of the largest output. */
  readonly bytes: number;
  /** At once: an output is finished before the next one begins, unless streams go back and forth between them. */
  readonly open: number;
  readonly wanted: number;
}

/** What the store of a job says about itself. */
export interface StoreMemory {
  readonly writerMemory?: WriterMemory | undefined;
  readonly stream?: unknown;
}

/** Inputs of which the layout takes nothing are not read, and are left out. */
export function planJob<Input extends CommittedInput>(
  layout: LayoutOutputs,
  inputs: readonly Input[],
  memoryBytes: number,
  store: StoreMemory = {},
): Wave<Input>[] {
  if (layout.outputs.length === 0) return [];
  const { writerMemory, stream } = store;
  if (writerMemory === undefined) return [windowedWave(layout, inputs, memoryBytes)];
  const readings = stream === undefined ? (['runs'] as const) : (['streams', 'runs'] as const);
  // All runs of a stream are read together: for their keys, and since its outputs are written one after the other.
  const groups = groupsOf(layout, () => true);
  let best: Wave<Input>[] | undefined;
  let least = Infinity;
  for (const keyIndex of KEY_INDEXES) {
    for (const reading of readings) {
      for (let count = 1; count <= groups.length; count += 1) {
        const waves: Wave<Input>[] = [];
        for (const wave of shareGroups(groups, count)) {
          const plan = { reading, keyIndex, memoryBytes, least: writerMemory.least };
          const planned = heldWave(layout, inputs, wave, plan);
          if (planned !== undefined) waves.push(planned);
        }
        const cost =
          waves.length === count ? waves.reduce((sum, wave) => sum + costOf(wave, writerMemory.single), 0) : Infinity;
        if (cost >= least) continue;
        best = waves;
        least = cost;
      }
    }
    if (best !== undefined) return best;
  }
  return leastWaves(layout, inputs, memoryBytes, writerMemory.least);
}

/**
 * Where no plan stays within the memory: as little at once as there can be. Only runs whose keys are compared have to
 * be in one wave, and writers take what they cannot do without.
 */
function leastWaves<Input extends CommittedInput>(
  layout: LayoutOutputs,
  inputs: readonly Input[],
  memoryBytes: number,
  least: number,
): Wave<Input>[] {
  const [, keyIndex] = KEY_INDEXES;
  const plan = { reading: 'runs', keyIndex, memoryBytes, least, exceeds: true } as const;
  return groupsOf(layout, ({ keys }) => keys !== 'all').map((group) =>
    required(heldWave(layout, inputs, [group], plan), 'the least plan takes what it needs'),
  );
}

function windowedWave<Input extends CommittedInput>(
  layout: LayoutOutputs,
  inputs: readonly Input[],
  memoryBytes: number,
): Wave<Input> {
  const outputs = [...layout.outputs.keys()];
  const read = readBy(layout, inputs);
  const [keyIndex] = KEY_INDEXES;
  const runs = read.reduce((sum, { live }) => sum + live.length, 0);
  const others = keyBytesOf(layout.outputs, keyIndex) + runs * RUN_BYTES;
  const windowsBytes = windowsBytesOf(memoryBytes, openAtOnce(layout.outputs), others);
  const windows = planWindows(
    read.map(({ input: { bytes }, live }) => ({ bytes, live })),
    windowsBytes,
  );
  return {
    outputs,
    heldBytes: memoryBytes,
    reading: 'windows',
    together: true,
    windows,
    keyIndex,
    inputs: read.map(({ input, live }, index) => ({ input, live, plan: windows.inputs[index] })),
    writerBytes: outputs.map(() => undefined),
    outputBytes: outputs.map((output) => expectedBytes(layout.outputs[output]?.runs ?? [])),
  };
}

/** What is left of a job's memory for windows beside keys and runs; the largest single chunk comes on top. */
export function windowsBytesOf(memoryBytes: number, outputs: number, others: number): number {
  const taken = 2 * RUN_READ_BYTES + OUTPUT_BYTES * outputs + REST_BYTES + others;
  return Math.max(WINDOWS_BYTES_MIN, memoryBytes - taken);
}

interface HeldPlan {
  readonly reading: 'streams' | 'runs';
  readonly keyIndex: KeyIndexLimits;
  readonly memoryBytes: number;
  /** What a writer needs. */
  readonly least: number;
  /** Whether writers get that also where it is not there. */
  readonly exceeds?: boolean;
}

/** `undefined` where the memory is too small for these outputs at once. */
function heldWave<Input extends CommittedInput>(
  layout: LayoutOutputs,
  inputs: readonly Input[],
  groups: readonly Group[],
  { reading, keyIndex, memoryBytes, least, exceeds = false }: HeldPlan,
): Wave<Input> | undefined {
  const numbers = groups.flatMap((group) => group.outputs).sort((left, right) => left - right);
  const outputs = numbers.map((output) => required(layout.outputs[output], 'an output of the layout'));
  const read = readBy({ outputs }, inputs);
  const open = groups.reduce((sum, group) => sum + group.open, 0);
  const streams = reading === 'streams' ? inputsAtOnce(outputs) : 0;
  if (streams > STREAMS_MAX) return undefined;
  const others =
    REST_BYTES +
    (reading === 'runs' || readsAhead(outputs) ? 2 * AHEAD_READ_BYTES : 0) +
    STREAM_BYTES * streams +
    MORE_STREAM_BYTES * Math.max(0, streams - USUAL_STREAMS) +
    HELD_OUTPUT_BYTES * open +
    keyBytesOf(outputs, keyIndex);
  const budget = Math.max(memoryBytes - others, exceeds ? open * least : 0);
  const shares = shareWriters(groups, budget, least);
  if (shares === undefined) return undefined;
  const shareOf = (output: number): number | undefined =>
    shares[groups.findIndex((group) => group.outputs.includes(output))];
  return {
    outputs: numbers,
    heldBytes: others + groups.reduce((sum, group, index) => sum + group.open * (shares[index] ?? 0), 0),
    reading,
    together: streams === read.length,
    windows: undefined,
    keyIndex,
    inputs: read.map(({ input, live }) => ({ input, live, plan: undefined })),
    writerBytes: numbers.map(shareOf),
    outputBytes: outputs.map(({ runs }) => expectedBytes(runs)),
  };
}

/** For each group, what each of its writers may hold: whole outputs where they fit, the smallest ones first. */
function shareWriters(groups: readonly Group[], budget: number, least: number): number[] | undefined {
  const shares = groups.map(() => 0);
  let rest = budget;
  let open = groups.reduce((sum, group) => sum + group.open, 0);
  if (rest < open * least) return undefined;
  const ascending = [...groups.entries()].sort(([, left], [, right]) => left.bytes - right.bytes);
  for (const [index, group] of ascending) {
    const share = Math.max(least, Math.min(group.bytes, Math.floor(rest / open)));
    shares[index] = share;
    rest -= share * group.open;
    open -= group.open;
  }
  return shares;
}

/** PUTs, GETs and the time of reading, in GETs. */
function costOf<Input extends CommittedInput>(wave: Wave<Input>, single: number): number {
  const { inputs, outputs, writerBytes, outputBytes } = wave;
  let cost = readRequests(wave) + inputs.reduce((sum, { live }) => sum + spanOf(live), 0) * READ_WEIGHT;
  for (const index of outputs.keys()) {
    const bytes = outputBytes[index] ?? 0;
    const held = writerBytes[index] ?? 0;
    cost += PUT_WEIGHT * (bytes <= Math.min(held, single) ? 1 : Math.ceil((2 * bytes) / held) + 2);
  }
  return cost;
}

/** GETs of a wave without windows, tails of inputs and what is read for keys and tracking left out. */
export function readRequests<Input extends CommittedInput>({ reading, inputs }: Wave<Input>): number {
  if (reading === 'streams') return inputs.length;
  let gets = 0;
  for (const { live } of inputs) for (const { length } of live) gets += Math.ceil(length / AHEAD_READ_BYTES);
  return gets;
}

/** From the first live byte to the last: what a stream of it passes. */
export function spanOf(live: readonly ByteRange[]): number {
  const [first] = live;
  const last = live.at(-1);
  return first === undefined || last === undefined ? 0 : last.position + last.length - first.position;
}

/** Into so many waves of about the same size. */
function shareGroups(groups: readonly Group[], count: number): Group[][] {
  const waves = Array.from({ length: count }, () => ({ groups: [] as Group[], wanted: 0 }));
  for (const group of [...groups].sort((left, right) => right.wanted - left.wanted)) {
    const wave = waves.reduce((least, other) => (other.wanted < least.wanted ? other : least));
    wave.groups.push(group);
    wave.wanted += group.wanted;
  }
  return waves.map((wave) => wave.groups);
}

/** Outputs with runs of one stream that are `joined` are in one group. */
function groupsOf({ outputs }: LayoutOutputs, joined: (run: LayoutRun) => boolean): Group[] {
  const groups: Set<number>[] = [];
  const byStream = new Map<number, Set<number>>();
  for (const [output, { runs }] of outputs.entries()) {
    let group = new Set([output]);
    groups.push(group);
    for (const { streamId } of runs.filter(joined)) {
      const other = byStream.get(streamId);
      if (other !== undefined && other !== group) {
        for (const member of group) other.add(member);
        for (const [stream, of] of byStream) if (of === group) byStream.set(stream, other);
        groups.splice(groups.indexOf(group), 1);
        group = other;
      }
      byStream.set(streamId, group);
    }
  }
  return groups.map((members) => {
    const numbers = [...members].sort((left, right) => left - right);
    const of = numbers.map((output) => required(outputs[output], 'an output of the layout'));
    const bytes = Math.max(...of.map(({ runs }) => expectedBytes(runs)));
    const open = openAtOnce(of);
    return { outputs: numbers, bytes, open, wanted: bytes * open };
  });
}

/**
 * With a chunk for each one of the inputs, and no byte less: merges join chunks, and leave out what is dead. No bound:
 * small chunks are compressed anew, by what the stream says now, and large ones of earlier releases are divided.
 */
function expectedBytes(runs: readonly LayoutRun[]): number {
  let bytes = 0;
  let chunks = 0;
  for (const { parents } of runs) {
    for (const parent of parents) {
      bytes += parent.byteLength;
      chunks += parent.chunks;
    }
  }
  return cleanBytesOf(bytes, runs.length, chunks) + PAGE_BYTES;
}

function readsAhead(outputs: readonly LayoutOutput[]): boolean {
  return outputs.some(({ runs }) =>
    runs.some(({ keys, parents }) => keys !== 'all' || parents.some(({ tracking }) => tracking === true)),
  );
}

function keyBytesOf(outputs: readonly LayoutOutput[], index: KeyIndexLimits): number {
  const records = new Map<number, number>();
  for (const { runs } of outputs) {
    for (const { streamId, keys, parents } of runs) {
      if (keys === 'all') continue;
      const sum = parents.reduce((total, parent) => total + parent.records, records.get(streamId) ?? 0);
      records.set(streamId, sum);
    }
  }
  return records.size === 0 ? 0 : keyIndexBytes(index) + Math.ceil(Math.max(...records.values()) / 8);
}

function readBy<Input extends CommittedInput>(
  layout: LayoutOutputs,
  inputs: readonly Input[],
): { readonly input: Input; readonly live: readonly ByteRange[] }[] {
  const live = liveRanges(layout);
  return inputs.flatMap((input) => {
    const ranges = live.get(input.key);
    return ranges === undefined ? [] : [{ input, live: ranges }];
  });
}
