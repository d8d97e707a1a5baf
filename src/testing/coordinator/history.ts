/** Random histories of a coordinator, each step held against the model. */
import assert from 'node:assert/strict';
import type fc from 'fast-check';
import type { ManualClock } from '../../base/clock.ts';
import type {
  CommitRun,
  Coordinator,
  CoordinatorTimes,
  ObjectCommit,
  RunReference,
} from '../../coordinator/coordinator.ts';
import type { CommitJob, Job } from '../../coordinator/job.ts';
import { isMillraceError } from '../../errors/millrace-error.ts';
import type { Retention } from '../../record/stream-config.ts';
import { type Choice, choicesOf } from './choices.ts';
import { CoordinatorModel, isVisible, ModelRefusal, sum, visibleRecords } from './model.ts';
import { EVERYTHING, mergedOutput, PLAIN, sampleCommit, sampleRun } from './samples.ts';

const STEP_KINDS = [
  'create',
  'configure',
  'deleteStream',
  'reserve',
  'commit',
  'commit',
  'commit',
  'commit',
  'replay',
  'abort',
  'trim',
  'retention',
  'truncate',
  'claim',
  'claim',
  'commitJob',
  'commitJob',
  'renew',
  'release',
  'advance',
  'jump',
  'expire',
  'delete',
  'reopen',
] as const;

export type Step = Choice<(typeof STEP_KINDS)[number]>;

const PROLOGUE: readonly Step[] = [0, 1, 2].map((a) => ({ kind: 'create', a, b: 0, c: 0 }));
export const steps: fc.Arbitrary<Step[]> = choicesOf(STEP_KINDS, { minLength: 1, maxLength: 120 }).map((history) => [
  ...PROLOGUE,
  ...history,
]);

const NAMES = ['a', 'b', 'c', 'd'];
const RETENTIONS: readonly Retention[] = [{}, { maxBytes: 150 }, { maxAge: 3000 }, { maxBytes: 0, maxAge: 100 }];
const LEASE = 2500;

/** The value, or the code of the refusal. */
async function outcome<Value>(work: () => Value | Promise<Value>): Promise<{ value: Value } | { code: string }> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof ModelRefusal || isMillraceError(error)) return { code: error.code };
    throw error;
  }
}

function nameOf({ objectKey, byteOffset }: RunReference): string {
  return `${objectKey} ${byteOffset}`;
}

export class History {
  readonly #model: CoordinatorModel;
  readonly #clock: ManualClock;
  readonly #reopen: () => Promise<Coordinator>;
  #coordinator: Coordinator;
  readonly #commits: ObjectCommit[] = [];
  readonly #jobs: Job[] = [];
  readonly #jobCommits: CommitJob[] = [];
  /** By job and run: where the run stood in its stream when the job was claimed. */
  readonly #places = new Map<string, number>();
  #slotSequence = 0;

  constructor(
    coordinator: Coordinator,
    clock: ManualClock,
    times: CoordinatorTimes,
    reopen: () => Promise<Coordinator>,
  ) {
    this.#coordinator = coordinator;
    this.#model = new CoordinatorModel(times);
    this.#clock = clock;
    this.#reopen = reopen;
  }

  async step(step: Step): Promise<void> {
    this.#model.advance(this.#clock.now());
    await this[step.kind](step);
    await this.check();
  }

  async create({ a }: Step): Promise<void> {
    const name = NAMES[a % NAMES.length]!;
    const { stream, created } = await this.#coordinator.createStream(name, PLAIN);
    const existing = [...this.#model.streams.values()].find((candidate) => candidate.name === name);
    assert.equal(created, existing === undefined);
    if (existing === undefined) this.#model.created(stream.streamId, name, PLAIN);
    else assert.deepEqual(stream, { streamId: existing.streamId, name, config: existing.config });
  }

  async configure({ a, b }: Step): Promise<void> {
    const streamId = this.#streamId(a);
    const config = { ...PLAIN, retention: RETENTIONS[b % RETENTIONS.length]! };
    await this.#both(
      () => this.#coordinator.configureStream(streamId, config).then(() => true),
      () => {
        this.#model.stream(streamId).config = config;
        return true;
      },
    );
  }

  async deleteStream({ a, b }: Step): Promise<void> {
    if (b % 3 > 0) return;
    const streamId = this.#streamId(a);
    await this.#both(
      () => this.#coordinator.deleteStream(streamId),
      () => this.#model.deleteStream(streamId),
    );
  }

  async reserve({ a }: Step): Promise<void> {
    this.#model.reserved(await this.#coordinator.reserveObjects(1 + (a % 3)));
  }

  /** Mostly sound, now and then a gap, an old epoch, a late slot, or a key that is not reserved. */
  async commit({ a, b, c }: Step): Promise<void> {
    const relative = a % 2 === 0;
    const watermarks = new Map<number, number>();
    const runs: CommitRun[] = [];
    for (let index = 0; index <= b % 3; index += 1) {
      const streamId = this.#streamId(a + index);
      const row = this.#model.streams.get(streamId);
      const next = relative ? 0 : (watermarks.get(streamId) ?? row?.nextOffset ?? 0);
      const records = (c + index * 7) % 6;
      const gap = !relative && c % 29 === 0 ? 1 : 0;
      const epoch = Math.max(0, (row?.epoch ?? 0) - (c % 31 === 0 ? 1 : 0));
      runs.push(this.#run(streamId, next + gap, records, epoch, c + index));
      watermarks.set(streamId, next + gap + records);
    }
    this.#slotSequence += c % 23 === 0 ? 0 : 1;
    const wal = { lane: b % 2, slotSequence: this.#slotSequence, blockSequence: c };
    const key = await this.#key(c);
    const commit = sampleCommit(key, runs, { relative, ...(b % 4 === 0 ? { wal } : {}) });
    this.#commits.push(commit);
    await this.#commit(commit);
  }

  async replay({ a }: Step): Promise<void> {
    const commit = this.#commits[a % Math.max(1, this.#commits.length)];
    if (commit !== undefined) await this.#commit(commit);
  }

  async abort({ a }: Step): Promise<void> {
    const key = await this.#key(a);
    await this.#both(
      () => this.#coordinator.abortObject(key),
      () => this.#model.abort(key),
    );
  }

  async trim({ a, b }: Step): Promise<void> {
    const streamId = this.#streamId(a);
    const stream = this.#model.streams.get(streamId);
    const before = b % ((stream?.nextOffset ?? 0) + 2);
    await this.#both(
      async () => (await this.#coordinator.trim(streamId, before)).firstOffset,
      () => this.#model.trim(streamId, before),
    );
  }

  async retention(): Promise<void> {
    await this.#both(
      async () => (await this.#coordinator.enforceRetention()).more,
      () => {
        this.#model.enforceRetention();
        return false;
      },
    );
  }

  async truncate({ a, b, c }: Step): Promise<void> {
    const streamId = this.#streamId(a);
    const stream = this.#model.streams.get(streamId);
    const nextOffset = (stream?.firstOffset ?? 0) + (b % 12);
    const truncation = { streamId, nextOffset, epoch: (stream?.epoch ?? 0) + (c % 5 === 0 ? 0 : 1) };
    await this.#both(
      () => this.#coordinator.truncateStream(truncation),
      () => this.#model.truncate(truncation),
    );
  }

  async claim({ a, b }: Step): Promise<void> {
    const live = [...this.#model.objects.values()].filter(({ state }) => state === 'committed' || a % 11 === 10);
    const keys = live.map(({ key }) => key);
    const chosen = new Set<string>();
    for (let index = 0; index <= b % 4; index += 1) {
      const key = keys[(a + index) % Math.max(1, keys.length)];
      if (key !== undefined) chosen.add(key);
    }
    if (chosen.size === 0) return;
    const inputKeys = [...chosen];
    const job = await this.#coordinator.claimJob('worker', { kind: 'merge', inputKeys, hints: {} }, LEASE);
    assert.equal(job !== undefined, this.#model.claimable(inputKeys));
    if (job === undefined) return;
    this.#model.claimed(job.jobId, job.token, inputKeys, LEASE);
    this.#jobs.push(job);
    for (const { runs } of this.#model.streams.values()) {
      for (const [place, run] of runs.entries()) this.#places.set(`${job.jobId} ${nameOf(run)}`, place);
    }
  }

  async commitJob({ a, b }: Step): Promise<void> {
    const repeated = this.#jobCommits[a % Math.max(1, this.#jobCommits.length)];
    let commit = repeated;
    if (b % 5 > 0 || repeated === undefined) {
      const job = this.#jobs[a % Math.max(1, this.#jobs.length)];
      if (job === undefined) return;
      const place = (run: RunReference): number => this.#places.get(`${job.jobId} ${nameOf(run)}`)!;
      const output = mergedOutput(job, await this.#key(1), place);
      const outputs = output.runs.length === 0 ? [] : [output];
      commit = { jobId: job.jobId, token: job.token, outputs, dropped: [] };
    }
    this.#jobCommits.push(commit!);
    await this.#both(
      async () => (await this.#coordinator.commitJob(commit!)).replayed,
      () => this.#model.commitJob(commit!),
    );
  }

  async renew({ a }: Step): Promise<void> {
    const job = this.#jobs[a % Math.max(1, this.#jobs.length)];
    if (job === undefined) return;
    const { jobId, token } = job;
    await this.#both(
      () => this.#coordinator.renewJob(jobId, token, LEASE),
      () => this.#model.renew(jobId, token, LEASE),
    );
  }

  async release({ a }: Step): Promise<void> {
    const job = this.#jobs[a % Math.max(1, this.#jobs.length)];
    if (job === undefined) return;
    const { jobId, token } = job;
    await this.#both(
      () => this.#coordinator.releaseJob(jobId, token),
      () => this.#model.release(jobId, token),
    );
  }

  async advance({ a }: Step): Promise<void> {
    this.#clock.advance(a);
    this.#model.advance(this.#clock.now());
  }

  /** Far ahead now and then, and back again as a corrected clock would be. */
  async jump({ a, b }: Step): Promise<void> {
    // Writes something, so that the coordinator has seen the time before it goes back.
    this.#model.reserved(await this.#coordinator.reserveObjects(1));
    this.#clock.jump(this.#clock.now() + (b % 4 === 0 ? a * 60 : -a * 20));
    this.#model.advance(this.#clock.now());
  }

  async expire(): Promise<void> {
    await this.#both(
      () => this.#coordinator.expire(),
      () => this.#model.expire(),
    );
  }

  async delete({ a }: Step): Promise<void> {
    const keys = await this.#coordinator.objectsToDelete(1000);
    assert.deepEqual([...keys].sort(), this.#model.toDelete());
    const some = keys.filter((_, index) => (a + index) % 3 > 0);
    await this.#both(
      () => this.#coordinator.confirmDeleted(some),
      () => this.#model.confirm(some),
    );
  }

  async reopen(): Promise<void> {
    // Time that nothing was written at is forgotten: only the clock itself may tell it again.
    if (this.#clock.now() < this.#model.now) this.#clock.jump(this.#model.now);
    this.#coordinator = await this.#reopen();
  }

  async check(): Promise<void> {
    assert.deepEqual(await this.#coordinator.verify(), []);
    const listed = await this.#coordinator.streams();
    assert.deepEqual(
      listed.map(({ streamId }) => streamId),
      [...this.#model.streams.keys()],
    );
    for (const { streamId } of listed) await this.#checkStream(streamId);
    for (const state of ['reserved', 'committed', 'deleting', 'gone'] as const) {
      const objects = await this.#coordinator.listObjects({ state });
      const expected = [...this.#model.objects.values()].filter((object) => object.state === state);
      const found = objects.map(({ key, stateAt, liveBytes }) => ({ key, stateAt, liveBytes }));
      const facts = expected.map(({ key, stateAt }) => {
        return { key, stateAt, liveBytes: sum(this.#model.liveRuns(key), ({ byteLength }) => byteLength) };
      });
      assert.deepEqual(found, facts);
    }
    assert.deepEqual(
      (await this.#coordinator.jobs()).map(({ jobId }) => jobId),
      [...this.#model.jobs.keys()],
    );
    const lanes = [...this.#model.lanes.values()].sort((left, right) => left.lane - right.lane);
    assert.deepEqual(await this.#coordinator.flushedSlots(), lanes);
  }

  async #checkStream(streamId: number): Promise<void> {
    const stream = this.#model.stream(streamId);
    const visible = stream.runs.filter((run) => isVisible(stream, run));
    const covering = visible.filter(({ firstOffset, endOffset }) => endOffset > firstOffset);
    const found = await this.#coordinator.findRuns(streamId, 0, EVERYTHING);
    const place = (run: {
      objectKey: string;
      byteOffset: number;
      firstOffset: number;
      endOffset: number;
    }): unknown[] => [run.objectKey, run.byteOffset, run.firstOffset, run.endOffset];
    assert.deepEqual(found.runs.map(place), covering.map(place));
    const totals = await this.#coordinator.streamTotals(streamId);
    const { firstOffset, nextOffset, epoch, records, userBytes, trackingBytes, storedBytes } = totals;
    assert.deepEqual(
      { firstOffset, nextOffset, epoch, records, userBytes, trackingBytes, storedBytes, heldBytes: totals.heldBytes },
      {
        firstOffset: stream.firstOffset,
        nextOffset: stream.nextOffset,
        epoch: stream.epoch,
        records: sum(visible, (run) => visibleRecords(stream, run)),
        userBytes: sum(visible, (run) => run.userBytes),
        trackingBytes: sum(visible, (run) => run.trackingBytes),
        storedBytes: sum(visible, (run) => run.byteLength),
        heldBytes: sum(stream.runs, (run) => run.byteLength) - sum(visible, (run) => run.byteLength),
      },
    );
    assert.equal(totals.segments, new Set(visible.map(({ objectKey }) => objectKey)).size);
    const tracking = await this.#coordinator.findTrackingRuns(streamId);
    const snapshot = stream.runs.findLastIndex((run) => run.trackingSnapshot === true);
    const carriers = stream.runs.slice(Math.max(0, snapshot)).filter((run) => run.trackingBytes > 0);
    assert.deepEqual(tracking.map(place), carriers.map(place));
  }

  async #commit(commit: ObjectCommit): Promise<void> {
    await this.#both(
      async () => {
        const { runs, replayed } = await this.#coordinator.commitObject(commit);
        return { offsets: runs.map(({ firstOffset }) => firstOffset), replayed };
      },
      () => this.#model.commit(commit),
    );
  }

  async #both<Value>(real: () => Promise<Value>, model: () => Value): Promise<void> {
    assert.deepEqual(await outcome(real), await outcome(model));
  }

  /** Of a stream that exists when there is one; sometimes of one that is gone. */
  #streamId(choice: number): number {
    const ids = [...this.#model.streams.keys()];
    return ids.length === 0 || choice % 17 === 16 ? 1 : ids[choice % ids.length]!;
  }

  /** A reserved key, a new one when there is none; sometimes any key. */
  async #key(choice: number): Promise<string> {
    const objects = [...this.#model.objects.values()];
    const odd = choice % 13 === 12 ? objects[choice % Math.max(1, objects.length)] : undefined;
    const reserved = odd ?? objects.find(({ state, stateAt }) => state === 'reserved' && stateAt > this.#model.now);
    if (reserved !== undefined) return reserved.key;
    const made = await this.#coordinator.reserveObjects(1);
    this.#model.reserved(made);
    return made.keys[0]!;
  }

  #run(streamId: number, firstOffset: number, records: number, epoch: number, choice: number): CommitRun {
    const trackingBytes = choice % 5 === 0 ? 10 : 0;
    const sparse = choice % 7 === 0 ? Math.floor(records / 2) : records;
    const lastTimestamp = sparse === 0 ? 0 : this.#clock.now() - (choice % 10) * 100;
    return sampleRun(streamId, firstOffset, records, {
      records: sparse,
      epoch,
      trackingBytes,
      trackingSnapshot: trackingBytes > 0 && choice % 2 === 0,
      byteLength: 20 + (choice % 50),
      firstTimestamp: sparse === 0 ? 0 : lastTimestamp - 50,
      lastTimestamp,
    });
  }
}
