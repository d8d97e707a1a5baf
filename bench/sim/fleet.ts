/**
 * One thinned writer of the fleet, with a store of its own: production's state machine, planners and layout under
 * simulated time. Only the bytes are missing: objects have sizes and runs, and rewrites take the time of their size.
 */
import { required } from '../../src/base/assert.ts';
import { SeededRandom } from '../../src/base/random.ts';
import { layOut } from '../../src/compaction/layout-planner.ts';
import { planJobs } from '../../src/compaction/plan.ts';
import { CLEANER_INTERVAL } from '../../src/compaction/plan-rewrite.ts';
import type { CompactionSettings } from '../../src/compaction/settings.ts';
import { commitJob } from '../../src/coordinator/commands/commit-job.ts';
import { commitObject } from '../../src/coordinator/commands/commit-object.ts';
import type { Decision } from '../../src/coordinator/commands/decision.ts';
import { claimJob } from '../../src/coordinator/commands/job-commands.ts';
import { confirmDeleted, expire, reserveObjects } from '../../src/coordinator/commands/object-commands.ts';
import { enforceRetention } from '../../src/coordinator/commands/retention.ts';
import { createStream, trimStream } from '../../src/coordinator/commands/stream-commands.ts';
import {
  COORDINATOR_TIMES_DEFAULT,
  type CoordinatorTimes,
  type RunReference,
} from '../../src/coordinator/coordinator.ts';
import type { Job, JobOutput, JobPlan } from '../../src/coordinator/job.ts';
import { objectsToDelete } from '../../src/coordinator/queries/object-queries.ts';
import { findRuns } from '../../src/coordinator/queries/stream-queries.ts';
import { advanceTime, apply } from '../../src/coordinator/state/apply.ts';
import { violations } from '../../src/coordinator/state/invariants.ts';
import type { StreamRow } from '../../src/coordinator/state/rows.ts';
import { State } from '../../src/coordinator/state/state.ts';
import { DeadlineWatch } from './deadlines.ts';
import { EventQueue } from './event-queue.ts';
import { FleetView } from './fleet-view.ts';
import { countJob, type Measures, newMeasures } from './measures.ts';
import { addRequests, type RequestCounts } from './prices.ts';
import { deleteRequests, type RewriteRequests, rewriteRequests, scanRequests, writeRequests } from './requests.ts';
import { modelOutputs } from './rewrite-model.ts';
import { sampleOf } from './sample.ts';
import { BURST_OBJECTS, burstInterval, makeStreams, objectInterval, ObjectMaker } from './workload.ts';
import type { SimulatedStream, WorkloadOptions } from './workload.ts';

export interface FleetOptions {
  readonly workload: WorkloadOptions;
  readonly settings: CompactionSettings;
  readonly seed: number;
}

/** A job that is under way. */
interface Work {
  readonly job: Job;
  readonly reason: string;
  readonly outputs: readonly JobOutput[];
  readonly dropped: readonly RunReference[];
  readonly readBytes: number;
  readonly reads: RequestCounts;
  readonly writers: RewriteRequests['writers'];
  /** Place of the claim among the deletions. */
  readonly claim: number;
}

/** Simulated time begins here, so that days begin with it. */
const START = 20_000 * 86_400_000;
/** Retention and deletion deadlines are looked after this often: a sixth of production's pace. */
const HOUSEKEEPING_INTERVAL = 60_000;
/** Planners look this often: a sixth of production's pace. */
const PLANNING_INTERVAL = 60_000;
const SAMPLE_INTERVAL = 3_600_000;
const SCAN_INTERVAL = 24 * 3_600_000;
const DELETE_AT_ONCE = 20_000;
/** Bytes of input a second of one worker, and the time of a job's first and last requests. */
export const WORKER_BYTES_PER_SECOND = 400e6;
const JOB_LATENCY = 500;
const LEASE = 3_600_000;
/** More runs than any stream has. */
const EVERYTHING = { maxRuns: 2 ** 31, maxBytes: Number.MAX_SAFE_INTEGER };

export class Fleet {
  readonly measures: Measures = newMeasures();
  readonly deadlines: DeadlineWatch = new DeadlineWatch();
  readonly #options: FleetOptions;
  readonly #times: CoordinatorTimes;
  readonly #state: State = new State();
  readonly #queue: EventQueue = new EventQueue(START);
  readonly #streams: readonly SimulatedStream[];
  readonly #maker: ObjectMaker;
  readonly #view: FleetView;
  #waiting: JobPlan[] = [];
  #running = 0;

  constructor(options: FleetOptions) {
    const { workload, settings, seed } = options;
    this.#options = options;
    this.#times = { ...COORDINATOR_TIMES_DEFAULT, deleteGrace: settings.deleteGrace };
    this.#streams = makeStreams(workload);
    this.#maker = new ObjectMaker(this.#streams, workload, new SeededRandom(seed));
    for (const { name, config } of this.#streams) this.#run(createStream(this.#state, name, config));
    const configs = new Map(this.#streams.map(({ config }, index) => [index + 1, config]));
    this.#view = new FleetView(this.#state, settings, configs);
    this.#queue.after(0, () => this.#burst());
    this.#queue.every(burstInterval(workload), () => this.#burst());
    this.#queue.every(HOUSEKEEPING_INTERVAL, () => this.#keepHouse());
    this.#queue.every(CLEANER_INTERVAL, () => this.#clean());
    this.#queue.every(PLANNING_INTERVAL, () => this.#plan());
    this.#queue.every(SAMPLE_INTERVAL, () => this.#sample());
    this.#queue.every(SCAN_INTERVAL, () => this.#scan());
    for (const [index, { trimInterval }] of this.#streams.entries()) {
      if (trimInterval !== undefined) this.#queue.every(trimInterval, () => this.#trim(index + 1));
    }
  }

  /** Runs up to this many days after the beginning. */
  runDays(days: number): void {
    this.#queue.runUntil(START + days * SCAN_INTERVAL);
  }

  /** Judges what is open, and throws when an invariant of the coordinator is broken. */
  close(): void {
    this.deadlines.close(this.#queue.now);
    const broken = violations(this.#state);
    if (broken.length > 0) throw new Error(`the coordinator's invariants are broken: ${broken.join('; ')}`);
  }

  #burst(): void {
    const interval = objectInterval(this.#options.workload);
    for (let object = 0; object < BURST_OBJECTS; object += 1)
      this.#queue.after(object * interval, () => this.#append());
  }

  #append(): void {
    const { measures } = this;
    const [key = ''] = this.#reserve(1);
    const { bytes, runs } = this.#maker.next(Math.floor(this.#queue.now));
    this.#run(commitObject(this.#state, { key, bytes, checksum: '0'.repeat(16), runs }));
    measures.ingestedBytes += bytes;
    measures.ingestedObjects += 1;
    measures.ingestedRuns += runs.length;
    addRequests(measures.ingest, writeRequests(bytes));
    for (const { byteLength } of runs) {
      measures.scanBefore.gets += scanRequests([{ objectKey: key, byteLength }]);
      measures.scanBefore.bytes += byteLength;
    }
  }

  /** Production's agent: plans once, runs the plans with so many at a time, and plans again when all have ended. */
  #plan(): void {
    if (this.#running > 0) return;
    this.#tick();
    const { settings } = this.#options;
    this.#waiting = planJobs({ view: this.#view.load(), settings }).reverse();
    for (let lane = 0; lane < settings.maxConcurrentJobs; lane += 1) this.#startNext();
  }

  #startNext(): void {
    let job: Job | undefined;
    let plan: JobPlan | undefined;
    // Of a plan whose inputs died meanwhile nothing is left to do.
    while (job === undefined) {
      plan = this.#waiting.pop();
      if (plan === undefined) return;
      job = this.#run(claimJob(this.#state, 'worker', plan, LEASE, '1'));
    }
    const work = this.#rewrite(job, String(plan?.hints?.['reason'] ?? ''));
    this.#running += 1;
    this.#queue.after(JOB_LATENCY + (1_000 * work.readBytes) / WORKER_BYTES_PER_SECOND, () => {
      this.#running -= 1;
      this.#finish(work);
      this.#startNext();
    });
  }

  #rewrite(job: Job, reason: string): Work {
    const layout = layOut(job, new Map(), this.#options.settings);
    const keys = layout.outputs.length === 0 ? [] : this.#reserve(layout.outputs.length);
    const outputs = modelOutputs(job, layout, keys, (streamId) => this.#streams[streamId - 1]!.keys);
    const { reads, readBytes, writers } = rewriteRequests(layout, job.inputs, this.#options.settings.jobBytes);
    const { dropped } = layout;
    return { job, reason, outputs, dropped, readBytes, reads, writers, claim: this.deadlines.claimed() };
  }

  #finish({ job, reason, outputs, dropped, readBytes, reads, writers, claim }: Work): void {
    const { measures } = this;
    this.#run(commitJob(this.#state, { jobId: job.jobId, token: job.token, outputs, dropped }));
    const inputKeys = job.inputs.map(({ key }) => key);
    this.deadlines.replaced(inputKeys, outputs, claim);
    let writtenBytes = 0;
    for (const [index, { bytes }] of outputs.entries()) {
      writtenBytes += bytes;
      addRequests(measures.rewriteWrites, writeRequests(bytes, ...(writers[index] ?? [])));
    }
    addRequests(measures.rewriteReads, reads);
    countJob(measures, reason, { inputs: inputKeys.length, outputs: outputs.length, readBytes, writtenBytes });
  }

  /** A user deletes the older half of what the stream holds. */
  #trim(streamId: number): void {
    this.#tick();
    const { firstOffset, nextOffset } = this.#streamRow(streamId);
    this.#die(streamId, firstOffset + Math.floor((nextOffset - firstOffset) / 2));
  }

  #die(streamId: number, beforeOffset: number): void {
    const stream = this.#streamRow(streamId);
    const { deletionDeadline } = stream.config;
    if (deletionDeadline !== undefined) {
      const found = findRuns(this.#state, stream, stream.firstOffset, EVERYTHING).runs;
      const dying = found.filter(({ firstOffset }) => firstOffset < beforeOffset);
      this.deadlines.died(dying, this.#state.now, deletionDeadline);
    }
    this.#run(trimStream(this.#state, streamId, beforeOffset));
  }

  #keepHouse(): void {
    this.#tick();
    const { answer } = enforceRetention(this.#state, undefined, { maxRuns: 2 ** 31 });
    for (const { streamId, firstOffset } of answer.streams) this.#die(streamId, firstOffset);
    this.#run(expire(this.#state, this.#times));
  }

  #clean(): void {
    this.#tick();
    const keys = objectsToDelete(this.#state, this.#state.now, DELETE_AT_ONCE, this.#times);
    if (keys.length === 0) return;
    this.#run(confirmDeleted(this.#state, keys));
    this.deadlines.gone(keys, this.#state.now);
    addRequests(this.measures.deletion, deleteRequests(keys.length));
  }

  #sample(): void {
    this.#tick();
    this.measures.samples.push(sampleOf(this.#state, (this.#state.now - START) / SCAN_INTERVAL));
  }

  /** What readers of everything would ask for; they leave out what is younger than a merge. */
  #scan(): void {
    this.#tick();
    const { scanAfter } = this.measures;
    for (const stream of this.#state.streams.values()) {
      const { runs } = findRuns(this.#state, stream, 0, EVERYTHING);
      const merged = runs.filter(({ objectKey }) => (this.#state.findObject(objectKey)?.generation ?? 0) > 0);
      scanAfter.gets += scanRequests(merged);
      for (const { byteLength } of merged) scanAfter.bytes += byteLength;
    }
  }

  #streamRow(streamId: number): StreamRow {
    return required(this.#state.streams.get(streamId), 'streams of the simulation stay');
  }

  #reserve(count: number): readonly string[] {
    this.#tick();
    return this.#run(reserveObjects(this.#state, count, 0, this.#times)).keys;
  }

  #tick(): void {
    advanceTime(this.#state, Math.floor(this.#queue.now));
  }

  #run<Answer>({ events, answer }: Decision<Answer>): Answer {
    this.#tick();
    for (const event of events) apply(this.#state, event);
    return answer;
  }
}
