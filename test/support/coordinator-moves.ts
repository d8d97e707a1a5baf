/**
 * Random moves for a pair of coordinators. There is no model: what one answers is right when the other says the same,
 * so that moves may be odd - wrong tokens, partial coverage, garbage for arguments - and need not be judged here.
 */
import type fc from 'fast-check';
import type { ManualClock } from '../../src/base/clock.ts';
import type {
  CommitRun,
  FoundRun,
  ObjectCommit,
  PublisherClaim,
  Truncation,
} from '../../src/coordinator/coordinator.ts';
import type { CommitJob, Job, JobOutput, JobRun } from '../../src/coordinator/job.ts';
import type { StreamConfig } from '../../src/record/stream-config.ts';
import type { CoordinatorPair } from './coordinator-pair.ts';
import { type Choice, choicesOf } from '../../src/testing/coordinator/choices.ts';
import {
  EVERYTHING,
  mergedOutput,
  PLAIN,
  sampleChecksum,
  sampleCommit,
  sampleRun,
} from '../../src/testing/coordinator/samples.ts';

const MOVE_KINDS = [
  'create',
  'configure',
  'deleteStream',
  'commit',
  'commit',
  'commit',
  'commit',
  'commit',
  'replay',
  'abort',
  'trim',
  'trim',
  'retention',
  'truncate',
  'claim',
  'claim',
  'commitJob',
  'commitJob',
  'commitJob',
  'renew',
  'release',
  'advance',
  'expire',
  'confirm',
  'slot',
  'storeOffsets',
  'storeOffsets',
] as const;

export type Move = Choice<(typeof MOVE_KINDS)[number]>;

export const moves: fc.Arbitrary<Move[]> = choicesOf(MOVE_KINDS, { minLength: 10, maxLength: 100 });

const CONFIGS: readonly StreamConfig[] = [
  PLAIN,
  { ...PLAIN, retention: { maxBytes: 100 } },
  { ...PLAIN, retention: { maxAge: 1500 }, deletionDeadline: 700 },
  { ...PLAIN, retention: { maxBytes: 0, maxAge: 0 }, cleanup: 'compact' },
  { ...PLAIN, compression: 'none', deletionDeadline: 100 },
];
const ODD_NUMBERS = [-1, 1.5, NaN, Infinity, 2 ** 53, 1e300];
const REFERENCES = ['first', 'second', '\u{1f40e} third'];
const LEASE = 1500;

export class Moves {
  readonly #pair: CoordinatorPair;
  readonly #clock: ManualClock;
  readonly #reserved: string[] = [];
  readonly #commits: ObjectCommit[] = [];
  readonly #jobs: Job[] = [];
  readonly #jobCommits: CommitJob[] = [];
  #slot = 0;

  constructor(pair: CoordinatorPair, clock: ManualClock) {
    this.#pair = pair;
    this.#clock = clock;
  }

  /** Something to work with from the first move on. */
  async begin(): Promise<void> {
    for (const [index, config] of CONFIGS.entries()) {
      if (index < 3) await this.#pair.ask('createStream', `stream ${index}`, config);
    }
  }

  async make(move: Move): Promise<void> {
    await this[move.kind](move);
  }

  async create({ a, b }: Move): Promise<void> {
    await this.#pair.ask('createStream', `stream ${a % 5}`, pick(CONFIGS, b));
  }

  async configure({ a, b }: Move): Promise<void> {
    await this.#pair.ask('configureStream', await this.#streamId(a), pick(CONFIGS, b));
  }

  async deleteStream({ a, b }: Move): Promise<void> {
    if (b % 4 === 0) await this.#pair.ask('deleteStream', await this.#streamId(a));
  }

  async commit({ a, b, c }: Move): Promise<void> {
    const relative = a % 3 > 0;
    const next = new Map<number, number>();
    const truncations: Truncation[] = [];
    const runs: CommitRun[] = [];
    for (let index = 0; index <= b % 4; index += 1) {
      const streamId = await this.#streamId(a + (index >> 1));
      const totals = await this.#pair.ask('streamTotals', streamId);
      const epoch = (totals?.epoch ?? 0) + (c % 5 === 0 ? 1 : 0);
      let first = next.get(streamId) ?? totals?.nextOffset ?? 0;
      if (c % 10 === 0 && !next.has(streamId) && totals !== undefined) {
        first = totals.firstOffset + (c % (totals.nextOffset - totals.firstOffset + 1));
        truncations.push({ streamId, nextOffset: first, epoch });
      }
      const records = (c + index * 3) % 5;
      const run = this.#run(streamId, relative ? 0 : first + (c % 37 === 0 ? 1 : 0), records, epoch, c + index);
      const publishers = records > 0 && a % 4 === 0 ? [await this.#claim(run, b + index)] : [];
      runs.push(publishers.length === 0 ? run : { ...run, publishers });
      next.set(streamId, first + records);
    }
    const wal = { lane: b % 2, slotSequence: this.#nextSlot(c), blockSequence: c };
    const more = { relative, truncations, generation: a % 3, ...(b % 5 === 0 ? { wal } : {}) };
    const commit = sampleCommit(await this.#key(c), runs, more);
    this.#commits.push(commit);
    await this.#pair.ask('commitObject', commit);
  }

  async replay({ a, b }: Move): Promise<void> {
    const commit = this.#commits[a % Math.max(1, this.#commits.length)];
    if (commit === undefined) return;
    await this.#pair.ask('commitObject', b % 3 === 0 ? { ...commit, checksum: sampleChecksum(b) } : commit);
  }

  async abort({ a, b }: Move): Promise<void> {
    await this.#pair.ask('abortObject', b % 7 === 0 ? 'no key' : await this.#key(a));
  }

  async trim({ a, b }: Move): Promise<void> {
    const streamId = await this.#streamId(a);
    const totals = await this.#pair.ask('streamTotals', streamId);
    const before = (totals?.firstOffset ?? 0) + (b % ((totals?.nextOffset ?? 0) - (totals?.firstOffset ?? 0) + 2));
    await this.#pair.ask('trim', streamId, b % 19 === 0 ? pick(ODD_NUMBERS, b) : before);
  }

  async retention({ a, b }: Move): Promise<void> {
    const maxRuns = 1 + (b % 4);
    if (a % 3 === 0) await this.#pair.ask('enforceRetention');
    else await this.#pair.ask('enforceRetention', await this.#streamId(a), { maxRuns: b % 13 === 0 ? 0 : maxRuns });
  }

  async truncate({ a, b, c }: Move): Promise<void> {
    const streamId = await this.#streamId(a);
    const totals = await this.#pair.ask('streamTotals', streamId);
    const nextOffset = (totals?.nextOffset ?? 0) - (b % 6);
    await this.#pair.ask('truncateStream', { streamId, nextOffset, epoch: (totals?.epoch ?? 0) + (c % 4 > 0 ? 1 : 0) });
  }

  async claim({ a, b }: Move): Promise<void> {
    const state = b % 11 === 0 ? 'deleting' : 'committed';
    const objects = (await this.#pair.ask('listObjects', { state })) ?? [];
    const inputKeys = objects.filter((_, index) => (a + index) % 3 > 0).map(({ key }) => key);
    if (b % 5 === 0) inputKeys.reverse();
    const plan = { kind: 'merge', inputKeys: inputKeys.slice(0, 1 + (b % 6)), hints: { b } } as const;
    const job = await this.#pair.ask('claimJob', 'worker', plan, LEASE);
    if (job !== undefined) this.#jobs.push(job);
  }

  async commitJob({ a, b, c }: Move): Promise<void> {
    const old = this.#jobCommits[a % Math.max(1, this.#jobCommits.length)];
    const job = this.#jobs[this.#jobs.length - 1 - (a % Math.max(1, Math.min(3, this.#jobs.length)))];
    const commit = b % 6 === 0 ? old : job === undefined ? undefined : await this.#commitOf(job, b, c);
    if (commit === undefined) return;
    this.#jobCommits.push(commit);
    await this.#pair.ask('commitJob', commit);
  }

  async renew({ a, b }: Move): Promise<void> {
    const job = this.#jobs[a % Math.max(1, this.#jobs.length)];
    if (job === undefined) return;
    await this.#pair.ask('renewJob', job.jobId, b % 5 === 0 ? 'another token' : job.token, b % 7 === 0 ? 0 : LEASE);
  }

  async release({ a }: Move): Promise<void> {
    const job = this.#jobs[a % Math.max(1, this.#jobs.length)];
    if (job !== undefined) await this.#pair.ask('releaseJob', job.jobId, job.token);
  }

  async advance({ a, b }: Move): Promise<void> {
    this.#clock.advance(b % 10 === 0 ? a * 20 : a);
    await this.#reserve(1);
  }

  async expire(): Promise<void> {
    await this.#pair.ask('expire');
  }

  async confirm({ a }: Move): Promise<void> {
    const keys = (await this.#pair.ask('objectsToDelete', 1000)) ?? [];
    await this.#pair.ask('confirmDeleted', [...keys.filter((_, index) => (a + index) % 3 > 0), 'no key']);
  }

  async slot({ a, b }: Move): Promise<void> {
    await this.#pair.ask('advanceFlushed', { lane: a % 2, slotSequence: this.#nextSlot(b), blockSequence: b });
  }

  async storeOffsets({ a, b, c }: Move): Promise<void> {
    const streamId = await this.#streamId(a);
    const totals = await this.#pair.ask('streamTotals', streamId);
    const offset = (totals?.firstOffset ?? 0) + (b % ((totals?.nextOffset ?? 0) + 2)) - (c % 3);
    const value = c % 7 === 0 ? undefined : c % 29 === 0 ? pick(ODD_NUMBERS, b) : offset;
    const offsets = new Map<string, number | undefined>([[pick(REFERENCES, b), value]]);
    if (c % 2 === 0) offsets.set(c % 31 === 0 ? '' : pick(REFERENCES, c), totals?.firstOffset);
    await this.#pair.ask('storeOffsets', streamId, offsets);
  }

  /** Everything that can be asked without changing anything. */
  async compareAll(): Promise<void> {
    for (const { streamId } of (await this.#pair.ask('streams')) ?? []) await this.#compareStream(streamId);
    await this.#pair.ask('streamTotals', NaN);
    const keys: string[] = [];
    for (const state of ['reserved', 'committed', 'deleting', 'gone'] as const) {
      const objects = (await this.#pair.ask('listObjects', { state })) ?? [];
      keys.push(...objects.map(({ key }) => key));
    }
    const after = keys[keys.length >> 1] ?? 'segments/';
    await this.#pair.ask('listObjects', { unclaimed: true, maxGeneration: 1, maxBytes: 300, after, limit: 3 });
    await this.#pair.ask('classifyKeys', [...keys, 'segments/0000000000000001-000000000000.seg', 'no key']);
    for (const key of keys.slice(-4)) await this.#pair.ask('objectRuns', key);
    await this.#pair.ask('jobs');
    await this.#pair.ask('flushedSlots');
    await this.#pair.ask('stats');
    await this.#pair.ask('verify');
  }

  async #compareStream(streamId: number): Promise<void> {
    const found = await this.#pair.ask('findRuns', streamId, 0, EVERYTHING);
    await this.#pair.ask('streamTotals', streamId);
    await this.#pair.ask('findTrackingRuns', streamId);
    await this.#pair.ask('trackedOffsets', streamId);
    for (const reference of REFERENCES) await this.#pair.ask('publisherMark', streamId, reference);
    const middle = ((found?.firstOffset ?? 0) + (found?.nextOffset ?? 0)) >> 1;
    await this.#pair.ask('findRuns', streamId, middle, { maxRuns: 2, maxBytes: 60 });
    await this.#pair.ask('findRuns', streamId, Infinity, { maxRuns: 0, maxBytes: 0 });
    for (const age of [0, 500, 1500.5, Infinity])
      await this.#pair.ask('listOffsets', streamId, this.#clock.now() - age);
  }

  /** Merges everything, rewrites run by run, leaves out what is trimmed, or forgets something. */
  async #commitOf(job: Job, b: number, c: number): Promise<CommitJob> {
    const ids = { jobId: job.jobId, token: b % 17 === 0 ? 'another token' : job.token };
    const key = await this.#key(1);
    if (b % 3 === 0) {
      const output = mergedOutput(job, key);
      return { ...ids, outputs: output.runs.length === 0 ? [] : [output], dropped: [] };
    }
    const logStart = (streamId: number): number => {
      return job.streams.find(({ stream }) => stream.streamId === streamId)?.firstOffset ?? 0;
    };
    const runs = job.inputs.flatMap((input) => input.runs);
    const isDropped = (run: FoundRun): boolean => c % 2 === 0 && run.endOffset <= logStart(run.streamId);
    const kept = runs.filter((run, index) => !isDropped(run) && !(c % 9 === 0 && index === 0));
    const dropped = runs.filter(isDropped).map(({ objectKey, byteOffset }) => ({ objectKey, byteOffset }));
    const output = rewritten(kept, key, (run) => (c % 3 === 0 ? logStart(run.streamId) : 0));
    return { ...ids, outputs: kept.length === 0 ? [] : [output], dropped };
  }

  async #streamId(choice: number): Promise<number> {
    if (choice % 41 === 40) return pick(ODD_NUMBERS, choice >> 3);
    const streams = (await this.#pair.ask('streams')) ?? [];
    return streams.length === 0 || choice % 23 === 22 ? 1 : streams[choice % streams.length]!.streamId;
  }

  async #key(choice: number): Promise<string> {
    if (choice % 19 === 18) return this.#commits[choice % Math.max(1, this.#commits.length)]?.key ?? 'no key';
    if (this.#reserved.length === 0) await this.#reserve(2);
    return this.#reserved.shift() ?? 'no key';
  }

  async #reserve(count: number): Promise<void> {
    const made = await this.#pair.ask('reserveObjects', count);
    this.#reserved.push(...(made?.keys ?? []));
  }

  /** Of the last record of the run; now and then by a writer that does not know of the latest one. */
  async #claim({ streamId, firstOffset, nextOffset }: CommitRun, choice: number): Promise<PublisherClaim> {
    const reference = pick(REFERENCES, choice);
    const mark = await this.#pair.ask('publisherMark', streamId, reference);
    const previousId = choice % 5 === 0 ? 1 : mark?.publishingId;
    const offset = choice % 17 === 0 ? nextOffset : Math.max(firstOffset, nextOffset - 1);
    return { reference, previousId, publishingId: (previousId ?? 0) + 1 + (choice % 3), offset };
  }

  #nextSlot(choice: number): number {
    this.#slot += choice % 7 === 0 ? 0 : 1;
    return this.#slot;
  }

  #run(streamId: number, firstOffset: number, records: number, epoch: number, choice: number): CommitRun {
    const trackingBytes = choice % 4 === 0 ? 10 : 0;
    const present = choice % 6 === 0 ? records >> 1 : records;
    const lastTimestamp = present === 0 ? 0 : this.#clock.now() - (choice % 10) * 200;
    return sampleRun(streamId, firstOffset, records, {
      records: present,
      epoch,
      trackingBytes,
      trackingSnapshot: trackingBytes > 0 && choice % 3 === 0,
      byteLength: 20 + (choice % 50),
      firstTimestamp: present === 0 ? 0 : lastTimestamp - 50,
      lastTimestamp,
    });
  }
}

/** Copies each run on its own, without what lies below `from`. */
function rewritten(runs: readonly FoundRun[], key: string, from: (run: FoundRun) => number): JobOutput {
  let position = 64;
  const placed = runs.map(({ objectKey, endOffset, byteOffset, ...facts }): JobRun => {
    const firstOffset = Math.min(
      endOffset,
      Math.max(facts.firstOffset, from({ objectKey, endOffset, byteOffset, ...facts })),
    );
    const at = position;
    position += facts.byteLength;
    return {
      ...facts,
      firstOffset,
      nextOffset: endOffset,
      records: Math.min(facts.records, endOffset - firstOffset),
      byteOffset: at,
      parents: [{ objectKey, byteOffset }],
    };
  });
  return { key, bytes: position + 32, checksum: sampleChecksum(placed), generation: 1, runs: placed };
}

function pick<Value>(values: readonly Value[], choice: number): Value {
  return values[choice % values.length]!;
}
