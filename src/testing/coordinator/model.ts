/**
 * A coordinator as one would write it without a thought for size, speed or disks: plain lists, sums computed when
 * asked. What the real ones answer to a random history has to be what this one answers.
 */
import type {
  CommitRun,
  CoordinatorTimes,
  FlushedSlot,
  ObjectCommit,
  ObjectState,
  Reservation,
  Truncation,
} from '../../coordinator/coordinator.ts';
import type { CommitJob } from '../../coordinator/job.ts';
import type { ErrorCode } from '../../errors/codes.ts';
import type { StreamConfig } from '../../record/stream-config.ts';

export interface ModelRun extends CommitRun {
  readonly objectKey: string;
  endOffset: number;
}

export interface ModelStream {
  readonly streamId: number;
  readonly name: string;
  config: StreamConfig;
  runs: ModelRun[];
  firstOffset: number;
  nextOffset: number;
  epoch: number;
}

interface ModelObject {
  readonly key: string;
  state: ObjectState;
  stateAt: number;
  commit: ObjectCommit | undefined;
  answer: readonly (number | undefined)[];
}

interface ModelJob {
  readonly token: string;
  readonly inputKeys: readonly string[];
  leaseUntil: number;
}

/** Thrown where a coordinator would reject with this code. */
export class ModelRefusal extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode) {
    super(code);
    this.code = code;
  }
}

export class CoordinatorModel {
  readonly streams: Map<number, ModelStream> = new Map();
  readonly objects: Map<string, ModelObject> = new Map();
  readonly jobs: Map<number, ModelJob> = new Map();
  readonly finished: Map<number, { token: string; at: number }> = new Map();
  readonly lanes: Map<number, FlushedSlot> = new Map();
  readonly #times: CoordinatorTimes;
  #now = 0;
  readonly #deleted = new Set<number>();

  constructor(times: CoordinatorTimes) {
    this.#times = times;
  }

  get now(): number {
    return this.#now;
  }

  advance(now: number): void {
    this.#now = Math.max(this.#now, now);
  }

  stream(streamId: number): ModelStream {
    const stream = this.streams.get(streamId);
    if (stream === undefined) throw new ModelRefusal('ERR_MILLRACE_STREAM_NOT_FOUND');
    return stream;
  }

  created(streamId: number, name: string, config: StreamConfig): void {
    this.streams.set(streamId, { streamId, name, config, runs: [], firstOffset: 0, nextOffset: 0, epoch: 0 });
  }

  deleteStream(streamId: number): boolean {
    const existed = this.streams.delete(streamId);
    if (existed) this.#deleted.add(streamId);
    this.#settle();
    return existed;
  }

  reserved({ keys }: Reservation): void {
    const stateAt = this.#now + this.#times.reservationTtl;
    for (const key of keys) this.objects.set(key, { key, state: 'reserved', stateAt, commit: undefined, answer: [] });
  }

  commit(commit: ObjectCommit): { offsets: readonly (number | undefined)[]; replayed: boolean } {
    const object = this.objects.get(commit.key);
    if (object?.commit !== undefined) {
      const same = object.commit.bytes === commit.bytes && object.commit.checksum === commit.checksum;
      if (!same) throw new ModelRefusal('ERR_MILLRACE_CONFLICT');
      return { offsets: object.answer, replayed: true };
    }
    const reserved = this.#reserved(commit.key);
    const lane = commit.wal === undefined ? undefined : this.lanes.get(commit.wal.lane);
    if (lane !== undefined && commit.wal!.slotSequence <= lane.slotSequence)
      throw new ModelRefusal('ERR_MILLRACE_CONFLICT');
    const changed = new Map<number, ModelStream>();
    const stream = (streamId: number): ModelStream | undefined => {
      const row = this.streams.get(streamId);
      if (row === undefined && !this.#deleted.has(streamId)) throw new ModelRefusal('ERR_MILLRACE_STREAM_NOT_FOUND');
      if (row !== undefined && !changed.has(streamId)) changed.set(streamId, copy(row));
      return changed.get(streamId);
    };
    for (const truncation of commit.truncations ?? []) {
      const row = stream(truncation.streamId);
      if (row !== undefined) truncate(row, truncation);
    }
    const offsets: (number | undefined)[] = [];
    for (const run of commit.runs) {
      const row = stream(run.streamId);
      if (row === undefined) {
        offsets.push(undefined);
        continue;
      }
      const shift = commit.relative === true ? row.nextOffset : 0;
      const firstOffset = run.firstOffset + shift;
      const nextOffset = run.nextOffset + shift;
      if (firstOffset !== row.nextOffset || run.epoch < row.epoch) throw new ModelRefusal('ERR_MILLRACE_CONFLICT');
      row.runs.push({ ...run, firstOffset, nextOffset, endOffset: nextOffset, objectKey: commit.key });
      row.nextOffset = nextOffset;
      row.epoch = run.epoch;
      offsets.push(firstOffset);
    }
    for (const [streamId, row] of changed) this.streams.set(streamId, row);
    if (commit.wal !== undefined) this.lanes.set(commit.wal.lane, commit.wal);
    this.#enter(reserved, 'committed');
    reserved.commit = commit;
    reserved.answer = offsets;
    this.#settle();
    return { offsets, replayed: false };
  }

  abort(key: string): boolean {
    const object = this.objects.get(key);
    if (object?.commit !== undefined) return false;
    if (object?.state === 'reserved') this.#enter(object, 'deleting');
    return true;
  }

  trim(streamId: number, beforeOffset: number): number {
    const stream = this.stream(streamId);
    if (beforeOffset > stream.nextOffset) throw new ModelRefusal('ERR_MILLRACE_OFFSET_OUT_OF_RANGE');
    stream.firstOffset = Math.max(stream.firstOffset, beforeOffset);
    this.#settle();
    return stream.firstOffset;
  }

  truncate(truncation: Truncation): void {
    const stream = this.stream(truncation.streamId);
    if (truncation.epoch === stream.epoch && truncation.nextOffset === stream.nextOffset) return;
    truncate(stream, truncation);
    this.#settle();
  }

  enforceRetention(): void {
    for (const stream of this.streams.values()) {
      const { maxBytes = Infinity, maxAge = Infinity } = stream.config.retention;
      const visible = stream.runs.filter((run) => isVisible(stream, run));
      const newest = visible.findLastIndex((run) => run.endOffset > run.firstOffset);
      const keep = visible.findIndex((run, index) => {
        const expired = run.records > 0 && run.lastTimestamp < this.#now - maxAge;
        if (index >= newest) return index > newest || !expired;
        const rest = sum(visible.slice(index + 1), (other) => other.userBytes);
        return run.records > 0 && rest < maxBytes && !expired;
      });
      const gone = keep < 0 ? visible.length : keep;
      const unlimited = maxBytes === Infinity && maxAge === Infinity;
      if (gone > 0 && !unlimited) stream.firstOffset = Math.max(stream.firstOffset, visible[gone - 1]!.endOffset);
    }
    this.#settle();
  }

  /** Whether a claim of these objects would succeed. */
  claimable(keys: readonly string[]): boolean {
    return keys.every((key) => {
      if (this.objects.get(key)?.state !== 'committed') return false;
      return ![...this.jobs.values()].some((job) => job.leaseUntil > this.#now && job.inputKeys.includes(key));
    });
  }

  claimed(jobId: number, token: string, inputKeys: readonly string[], leaseMs: number): void {
    for (const [other, job] of this.jobs)
      if (job.inputKeys.some((key) => inputKeys.includes(key))) this.jobs.delete(other);
    this.jobs.set(jobId, { token, inputKeys, leaseUntil: this.#now + leaseMs });
  }

  renew(jobId: number, token: string, leaseMs: number): boolean {
    const job = this.#held(jobId, token);
    if (job !== undefined) job.leaseUntil = Math.max(job.leaseUntil, this.#now + leaseMs);
    return job !== undefined;
  }

  release(jobId: number, token: string): boolean {
    return this.#held(jobId, token) !== undefined && this.jobs.delete(jobId);
  }

  /** Of a commit that covers its inputs: what remains to be judged is who makes it, and when. */
  commitJob(commit: CommitJob): boolean {
    if (this.finished.get(commit.jobId)?.token === commit.token) return true;
    const job = this.#held(commit.jobId, commit.token);
    if (job === undefined) throw new ModelRefusal('ERR_MILLRACE_LEASE_LOST');
    for (const output of commit.outputs) this.#reserved(output.key);
    for (const output of commit.outputs) {
      const { key, bytes, checksum, runs } = output;
      const object = this.objects.get(key)!;
      this.#enter(object, 'committed');
      object.commit = { key, bytes, checksum, runs };
      object.answer = runs.map(({ firstOffset }) => firstOffset);
      for (const { parents, ...run } of runs) {
        const stream = this.streams.get(run.streamId);
        const isParent = (other: ModelRun): boolean =>
          parents.some(({ objectKey, byteOffset }) => objectKey === other.objectKey && byteOffset === other.byteOffset);
        const first = stream?.runs.findIndex(isParent) ?? -1;
        if (stream === undefined || first < 0) continue;
        const last = stream.runs.findLastIndex(isParent);
        const { endOffset } = stream.runs[last]!;
        stream.runs.splice(first, last - first + 1, { ...run, objectKey: key, endOffset });
      }
    }
    this.jobs.delete(commit.jobId);
    this.finished.set(commit.jobId, { token: commit.token, at: this.#now });
    this.#settle();
    return false;
  }

  expire(): { reservations: number; jobs: number; tombstones: number } {
    const expired = { reservations: 0, jobs: 0, tombstones: 0 };
    for (const object of this.objects.values()) {
      if (object.state === 'gone' && this.#now - object.stateAt >= this.#times.tombstoneRetention) {
        this.objects.delete(object.key);
        expired.tombstones += 1;
      }
      if (object.state !== 'reserved' || object.stateAt > this.#now) continue;
      this.#enter(object, 'deleting');
      expired.reservations += 1;
    }
    for (const [jobId, job] of this.jobs) {
      if (job.leaseUntil <= this.#now && this.jobs.delete(jobId)) expired.jobs += 1;
    }
    for (const [jobId, { at }] of this.finished) {
      if (this.#now - at >= this.#times.tombstoneRetention && this.finished.delete(jobId)) expired.tombstones += 1;
    }
    return expired;
  }

  toDelete(): string[] {
    const due = [...this.objects.values()].filter(
      ({ state, stateAt }) => state === 'deleting' && this.#now - stateAt >= this.#times.deleteGrace,
    );
    return due.map(({ key }) => key).sort();
  }

  confirm(keys: readonly string[]): number {
    const confirmed = keys.filter((key) => this.objects.get(key)?.state === 'deleting');
    for (const key of confirmed) this.#enter(this.objects.get(key)!, 'gone');
    return confirmed.length;
  }

  liveRuns(key: string): ModelRun[] {
    return [...this.streams.values()].flatMap(({ runs }) => runs.filter(({ objectKey }) => objectKey === key));
  }

  #reserved(key: string): ModelObject {
    const object = this.objects.get(key);
    if (object?.state !== 'reserved' || object.stateAt <= this.#now) throw new ModelRefusal('ERR_MILLRACE_CONFLICT');
    return object;
  }

  #held(jobId: number, token: string): ModelJob | undefined {
    const job = this.jobs.get(jobId);
    return job?.token === token && job.leaseUntil > this.#now ? job : undefined;
  }

  #enter(object: ModelObject, state: ObjectState): void {
    object.state = state;
    object.stateAt = this.#now;
  }

  /** Lets runs die that nobody can read or needs, and objects with their last run. */
  #settle(): void {
    for (const stream of this.streams.values()) {
      const snapshot = stream.runs.findLastIndex((run) => run.trackingSnapshot === true);
      const anchor = snapshot >= 0 ? snapshot : stream.runs.findIndex((run) => run.trackingBytes > 0);
      stream.runs = stream.runs.filter((run, index) => isVisible(stream, run) || (anchor >= 0 && index >= anchor));
    }
    for (const object of this.objects.values()) {
      if (object.state === 'committed' && this.liveRuns(object.key).length === 0) this.#enter(object, 'deleting');
    }
  }
}

export function isVisible(stream: ModelStream, run: ModelRun): boolean {
  return run.endOffset > stream.firstOffset || run.firstOffset >= stream.firstOffset;
}

/** Records of a run that can be read: exact when it is dense. */
export function visibleRecords(stream: ModelStream, run: ModelRun): number {
  if (run.records !== run.nextOffset - run.firstOffset) return run.records;
  return run.endOffset - Math.max(run.firstOffset, Math.min(stream.firstOffset, run.endOffset));
}

export function sum<Item>(items: readonly Item[], value: (item: Item) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}

function copy(stream: ModelStream): ModelStream {
  return { ...stream, runs: stream.runs.map((run) => ({ ...run })) };
}

function truncate(stream: ModelStream, { nextOffset, epoch }: Truncation): void {
  if (epoch <= stream.epoch) throw new ModelRefusal('ERR_MILLRACE_CONFLICT');
  if (nextOffset < stream.firstOffset || nextOffset > stream.nextOffset) {
    throw new ModelRefusal('ERR_MILLRACE_OFFSET_OUT_OF_RANGE');
  }
  const last = stream.runs.findLastIndex((run) => run.endOffset <= nextOffset);
  stream.runs = stream.runs.filter((run, index) => index <= last || run.firstOffset < nextOffset);
  for (const run of stream.runs) run.endOffset = Math.min(run.endOffset, nextOffset);
  stream.nextOffset = nextOffset;
  stream.epoch = epoch;
}
