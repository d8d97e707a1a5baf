/**
 * The one executor behind every kind of compaction. It goes through the streams of a job in order, run by run, and
 * writes each to the output that the layout names. Memory is what the plan of the job says (`job-memory.ts`), whatever
 * the job's size: of each input a window, or pieces of a stream, of each open output its buffers and what its writer
 * holds, and the keys of one stream; to which comes the largest single chunk. Runs in a pool worker.
 */
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { required } from '../base/assert.ts';
import { xxh64 } from '../codec/checksum.ts';
import type { ObjectStore } from '../object/object-store.ts';
import { packRun, RUN_COLUMNS } from '../record/run-columns.ts';
import { FrameChunker } from '../segment/frame-chunker.ts';
import { SegmentWriter } from '../segment/writer.ts';
import { BufferAccount } from './input-source.ts';
import { KeyIndex, type KeyIndexLimits } from './key-index.ts';
import { selectStream } from './key-pass.ts';
import { planJob, type Wave } from './job-memory.ts';
import type { LayoutOutput, LayoutOutputs, LayoutRun } from './layout.ts';
import { unpackLayout } from './layout-message.ts';
import { Pace, type Sleep } from './pace.ts';
import { ParentReader } from './parent-reader.ts';
import type { RewriteCounters, RewriteInput, RewriteJob, RewriteResult, WrittenOutput } from './rewrite-job.ts';
import { type OpenOutput, RunRewriter, type Selection } from './run-rewriter.ts';
import { scheduleRuns, type ScheduledRun } from './schedule.ts';
import { foldTracking } from './tracking-fold.ts';

/** What a job takes from the thread it runs in. */
export interface RewriteEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly sleep: Sleep;
  /** For tests: less memory makes more passes. */
  readonly keyIndexLimits?: KeyIndexLimits;
  /** For tests: forces keys to share hashes. */
  readonly keyHash?: (key: Uint8Array) => number;
}

/**
 * Writes the outputs of a job. When it rejects, nothing of it is left in the object store, and the inputs are as they
 * were. `ERR_MILLRACE_OBJECT_NOT_FOUND`, `ERR_MILLRACE_SEGMENT_CORRUPT`: an input is missing or damaged.
 * `ERR_MILLRACE_ABORTED`: the job was cancelled.
 */
export async function runRewriteJob(
  job: RewriteJob,
  objects: ObjectStore,
  environment: RewriteEnvironment,
): Promise<RewriteResult> {
  const rewrite = new Rewrite(job, objects, environment);
  try {
    return await rewrite.run();
  } catch (error) {
    await rewrite.abandon();
    throw error;
  }
}

interface OutputProgress extends OpenOutput {
  /** How many of its runs are written. */
  written: number;
}

class Rewrite {
  readonly #job: RewriteJob;
  readonly #layout: LayoutOutputs;
  readonly #objects: ObjectStore;
  readonly #environment: RewriteEnvironment;
  readonly #account: BufferAccount = new BufferAccount();
  readonly #reader: ParentReader;
  readonly #rewriter: RunRewriter;
  #wave: Wave<RewriteInput> | undefined;
  readonly #open: Map<number, OutputProgress> = new Map();
  readonly #finished: WrittenOutput[] = [];
  /** Made for the first stream with keys, and used for all. */
  #keys: KeyIndex | undefined;
  readonly #counters: RewriteCounters = {
    readBytes: 0,
    writtenBytes: 0,
    chunksPassed: 0,
    chunksWritten: 0,
    recordsRead: 0,
    recordsDropped: 0,
    peakBufferedBytes: 0,
  };

  constructor(job: RewriteJob, objects: ObjectStore, environment: RewriteEnvironment) {
    this.#job = job;
    this.#layout = unpackLayout(job.layout);
    this.#objects = objects;
    this.#environment = environment;
    const pace = new Pace(job.bytesPerSecond, environment.clock, environment.sleep);
    this.#reader = new ParentReader(objects, job, pace, this.#account);
    this.#rewriter = new RunRewriter(this.#reader, this.#counters);
  }

  async run(): Promise<RewriteResult> {
    const { inputs, memoryBytes } = this.#job;
    for (const wave of planJob(this.#layout, inputs, memoryBytes, this.#objects)) {
      this.#wave = wave;
      // A wave without keys has given the index's memory to its writers.
      if (wave.outputs.every((output) => this.#layoutOf(output).runs.every(({ keys }) => keys === 'all'))) {
        this.#keys = undefined;
      }
      await this.#reader.open(wave);
      for (const runs of scheduleRuns(this.#layout.outputs, wave.outputs)) await this.#writeStream(runs);
    }
    this.#reader.close();
    this.#counters.readBytes = this.#account.readBytes;
    this.#counters.peakBufferedBytes = this.#account.peak;
    return { outputs: this.#finished, counters: this.#counters };
  }

  /** Leaves nothing behind. Never rejects: what cannot be deleted now is a reservation that the coordinator ends. */
  async abandon(): Promise<void> {
    this.#reader.close();
    for (const { writer } of this.#open.values()) await writer.abort();
    if (this.#finished.length === 0) return;
    try {
      await this.#objects.delete(this.#finished.map(({ key }) => key));
    } catch {
      // The caller's error is the one to report.
    }
  }

  async #writeStream(runs: readonly ScheduledRun[]): Promise<void> {
    const streamId = runs[0]?.run.streamId ?? 0;
    const selection = await this.#select(
      streamId,
      runs.map(({ run }) => run),
    );
    for (const { run, output } of runs) {
      const tracking = await foldTracking(this.#reader, run, this.#job.logStarts.get(run.streamId) ?? 0);
      const progress = this.#open.get(output) ?? (await this.#openOutput(output));
      await this.#rewriter.write(progress, run, tracking, selection);
      progress.written += 1;
      if (progress.written === this.#layoutOf(output).runs.length) await this.#finish(output, progress);
    }
  }

  async #select(streamId: number, runs: readonly LayoutRun[]): Promise<Selection | undefined> {
    if (runs.every(({ keys }) => keys === 'all')) return undefined;
    const { random, keyIndexLimits, keyHash } = this.#environment;
    // A seed of its own: nobody can prepare keys that share hashes.
    const seed = BigInt(random.uint32());
    const hash = keyHash ?? ((key: Uint8Array): number => Number(xxh64(key, seed) & 0xffff_ffffn));
    this.#keys ??= new KeyIndex(hash, keyIndexLimits ?? this.#wave?.keyIndex);
    return selectStream(this.#reader, streamId, runs, this.#keys, this.#job.tombstonesBefore);
  }

  #layoutOf(output: number): LayoutOutput {
    return required(this.#layout.outputs[output], 'a run names an output of the layout');
  }

  #keyOf(output: number): string {
    return required(this.#job.keys[output], 'there is a key for each output');
  }

  async #openOutput(output: number): Promise<OutputProgress> {
    const { storeId, createdAt } = this.#job;
    const objectKey = this.#keyOf(output);
    const place = this.#wave?.outputs.indexOf(output) ?? 0;
    const { writerBytes, outputBytes } = required(this.#wave, 'outputs are written in waves');
    const sink = await this.#objects.create(objectKey, writerBytes[place], outputBytes[place]);
    const writer = new SegmentWriter(sink, { storeId, objectKey, createdAt });
    const progress = { writer, chunker: new FrameChunker(writer), written: 0 };
    this.#open.set(output, progress);
    return progress;
  }

  async #finish(output: number, { writer }: OutputProgress): Promise<void> {
    const { bytes, checksum: footer, runs } = await writer.finish();
    this.#open.delete(output);
    const checksum = footer.toString(16).padStart(16, '0');
    const planned = this.#layoutOf(output).runs;
    const numbers = new Float64Array(planned.length * RUN_COLUMNS);
    for (const [index, run] of runs.entries()) {
      packRun(numbers, index * RUN_COLUMNS, run, planned[index]?.snapshot ?? false);
    }
    this.#finished.push({ key: this.#keyOf(output), bytes, checksum, runs: numbers });
    this.#counters.writtenBytes += bytes;
  }
}
