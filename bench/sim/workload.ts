/**
 * What one writer of the fleet appends. Streams are spread over the writers, so that each has one stream of every band
 * of ranks; a band's mean rate stands for its members, and the writers are alike.
 */
import type { Random } from '../../src/base/random.ts';
import type { CommitRun } from '../../src/coordinator/coordinator.ts';
import { CHUNK_RAW_BYTES_TARGET, GIB, MIB } from '../../src/limits/limits.ts';
import { type StreamConfig, STREAM_CONFIG_DEFAULT } from '../../src/record/stream-config.ts';
import { SEGMENT_HEADER_BYTES } from '../../src/segment/format.ts';
import { cleanBytesOf } from '../../src/compaction/view.ts';

export interface WorkloadOptions {
  /** User bytes a second of the whole fleet, as they are stored: compressed. */
  readonly bytesPerSecond: number;
  readonly streams: number;
  readonly writers: number;
  /** One burst of objects in so many is simulated. */
  readonly thinning: number;
  readonly objectBytes: number;
  /** Exponent of Zipf's law over the streams; 0 makes them equal. */
  readonly skew: number;
  readonly recordBytes: number;
}

export const WORKLOAD_DEFAULT: WorkloadOptions = {
  bytesPerSecond: GIB,
  streams: 10_000,
  writers: 32,
  thinning: 512,
  objectBytes: 8 * MIB,
  skew: 0.8,
  recordBytes: 1_024,
};

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** A chunk as writers and merges make it, when records shrink to half. */
const CHUNK_STORED_BYTES: number = CHUNK_RAW_BYTES_TARGET / 2;

/** A part of the fleet's bytes. */
export interface MixPart {
  readonly name: string;
  readonly share: number;
  readonly config: Partial<StreamConfig>;
  /** For compacted streams: hours of writing in which as many records come as there are keys. */
  readonly keyHours?: number;
  /** Records are deleted this often, up to half of what is there. */
  readonly trimHours?: number;
}

/** Of all bytes, by what becomes of them. `maxBytes` is in hours of the stream's own writing, set when it is made. */
export const MIX: readonly (MixPart & { readonly sizeHours?: number })[] = [
  { name: '6 hours', share: 0.15, config: { retention: { maxAge: 6 * HOUR } } },
  { name: '1 day', share: 0.2, config: { retention: { maxAge: DAY } } },
  { name: '3 days', share: 0.15, config: { retention: { maxAge: 3 * DAY } } },
  { name: '7 days', share: 0.2, config: { retention: { maxAge: 7 * DAY } } },
  { name: 'infinite', share: 0.1, config: {} },
  { name: 'size-bound', share: 0.1, config: {}, sizeHours: 48 },
  { name: 'compacted', share: 0.05, config: { cleanup: 'compact' }, keyHours: 24 },
  {
    name: 'deadline',
    share: 0.05,
    config: { retention: { maxAge: DAY }, deletionDeadline: HOUR },
    trimHours: 4,
  },
];

export interface SimulatedStream {
  readonly name: string;
  readonly part: string;
  readonly config: StreamConfig;
  /** Of the writer's bytes. */
  readonly share: number;
  /** How many keys a compacted stream has, each equally likely. */
  readonly keys: number;
  readonly trimInterval: number | undefined;
}

/**
 * Objects that a simulated writer makes at its real pace, before the time that thinning leaves out. Planners so find as
 * much at once as they would in production: thinning object by object would starve their jobs.
 */
export const BURST_OBJECTS = 64;

/** Milliseconds from one object of a writer to the next, at its real pace. */
export function objectInterval({ bytesPerSecond, writers, objectBytes }: WorkloadOptions): number {
  return (1_000 * objectBytes * writers) / bytesPerSecond;
}

/** Milliseconds from the beginning of one simulated burst to the next. */
export function burstInterval(options: WorkloadOptions): number {
  return objectInterval(options) * BURST_OBJECTS * options.thinning;
}

export function makeStreams(options: WorkloadOptions): SimulatedStream[] {
  const { streams, writers, skew } = options;
  const bands = Math.max(1, Math.round(streams / writers));
  const weights = Array.from({ length: bands }, () => 0);
  for (let rank = 0; rank < bands * writers; rank += 1) {
    weights[Math.floor(rank / writers)]! += (rank + 1) ** -skew;
  }
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const given = MIX.map(() => 0);
  return weights.map((weight, band) => {
    const share = weight / total;
    const index = mostWanting(given);
    given[index]! += share;
    return streamOf(band, share, MIX[index]!, options);
  });
}

/** The part of the mix that is furthest below its share: largest streams first, all shares are met closely. */
function mostWanting(given: readonly number[]): number {
  let found = 0;
  const lack = (index: number): number => MIX[index]!.share - given[index]!;
  for (let index = 1; index < MIX.length; index += 1) if (lack(index) > lack(found)) found = index;
  return found;
}

function streamOf(band: number, share: number, part: (typeof MIX)[number], options: WorkloadOptions): SimulatedStream {
  const bytesPerHour = (share * options.objectBytes * BURST_OBJECTS * HOUR) / burstInterval(options);
  const retention =
    part.sizeHours === undefined
      ? (part.config.retention ?? {})
      : { maxBytes: Math.ceil(bytesPerHour * part.sizeHours) };
  return {
    name: `stream-${band}`,
    part: part.name,
    config: { ...STREAM_CONFIG_DEFAULT, ...part.config, retention },
    share,
    keys: Math.max(1, Math.round(((part.keyHours ?? 0) * bytesPerHour) / options.recordBytes)),
    trimInterval: part.trimHours === undefined ? undefined : part.trimHours * HOUR,
  };
}

export function chunksOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / CHUNK_STORED_BYTES));
}

/** The footer takes the rest; an object above its size would be cut into parts. */
const FILL = 0.98;

export interface MadeObject {
  readonly bytes: number;
  readonly runs: readonly CommitRun[];
}

/** Makes one object of appends after the other. */
export class ObjectMaker {
  readonly #streams: readonly SimulatedStream[];
  readonly #options: WorkloadOptions;
  readonly #random: Random;
  readonly #owed: number[];
  readonly #nextOffsets: number[];

  constructor(streams: readonly SimulatedStream[], options: WorkloadOptions, random: Random) {
    this.#streams = streams;
    this.#options = options;
    this.#random = random;
    this.#owed = streams.map(() => 0);
    this.#nextOffsets = streams.map(() => 0);
  }

  next(now: number): MadeObject {
    const { objectBytes, recordBytes } = this.#options;
    const runs: CommitRun[] = [];
    let byteOffset = SEGMENT_HEADER_BYTES;
    let chunks = 0;
    // Half as much up to half as much again of each stream; what is below a record waits for the next object.
    const weights = this.#streams.map(({ share }) => share * (0.5 + this.#random.uint32() / 2 ** 32));
    const unit = (objectBytes * FILL) / weights.reduce((sum, weight) => sum + weight, 0);
    for (const [index, weight] of weights.entries()) {
      const owed = this.#owed[index]! + weight * unit;
      const records = Math.floor(owed / recordBytes);
      this.#owed[index] = owed - records * recordBytes;
      if (records === 0) continue;
      const firstOffset = this.#nextOffsets[index]!;
      const byteLength = records * recordBytes;
      const run = runOf(index + 1, firstOffset, records, byteOffset, byteLength, now);
      this.#nextOffsets[index] = run.nextOffset;
      byteOffset += byteLength;
      chunks += run.chunks;
      runs.push(run);
    }
    const runBytes = byteOffset - SEGMENT_HEADER_BYTES;
    return { bytes: cleanBytesOf(runBytes, runs.length, chunks), runs };
  }
}

function runOf(
  streamId: number,
  firstOffset: number,
  records: number,
  byteOffset: number,
  byteLength: number,
  now: number,
): CommitRun {
  return {
    streamId,
    firstOffset,
    nextOffset: firstOffset + records,
    records,
    userBytes: byteLength,
    trackingBytes: 0,
    firstTimestamp: now,
    lastTimestamp: now,
    epoch: 0,
    byteOffset,
    byteLength,
    chunks: chunksOf(byteLength),
  };
}
