/** Draws cases for targets, runs them within bounds of time and memory, and shrinks what fails. */
import { SeededRandom } from '../../src/base/random.ts';
import { loadChecksum } from '../../src/codec/checksum.ts';
import { applyEdits, type Edit, randomEdits, textOf } from './edits.ts';
import { dumpTargets } from './dump-targets.ts';
import { httpTarget } from './http-target.ts';
import { logTargets } from './log-targets.ts';
import { manifestTargets } from './manifest-targets.ts';
import { nameTarget } from './name-targets.ts';
import { RECORD_TARGETS } from './record-targets.ts';
import { segmentTargets } from './segment-targets.ts';
import type { Target } from './target.ts';

/** No input of 64 KiB may take more of a processor, in milliseconds, nor let the process grow beyond this. */
const CASE_TIME_MAX = 5_000;
const RESIDENT_BYTES_MAX = 1024 * 1024 * 1024;
/** Cases between two looks at the memory. */
const MEMORY_INTERVAL = 500;
/** One case in so many keeps its broken checksums. */
const UNREPAIRED = 16;

export async function everyTarget(): Promise<Target[]> {
  await loadChecksum();
  const [chunks, segments] = segmentTargets();
  const files = [segments, ...logTargets(), ...manifestTargets()];
  return [...RECORD_TARGETS, chunks, ...files, ...dumpTargets(files), nameTarget, httpTarget()];
}

interface Case {
  readonly sample: number;
  readonly edits: readonly Edit[];
  readonly repair: boolean;
}

export class Finding extends Error {
  override readonly name = 'Finding';
}

export class Fuzzer {
  readonly target: Target;
  readonly #seed: number;
  /** Cases that have run. */
  done = 0;
  /** The case that is running, for who finds it hanging. */
  running = 0;

  constructor(target: Target, seed: number) {
    this.target = target;
    this.#seed = seed;
  }

  /** Runs the next case. Rejects with a `Finding` that names the seed and the smallest edits that still fail. */
  async next(): Promise<void> {
    await this.run(this.done);
    this.done += 1;
    if (this.done % MEMORY_INTERVAL > 0) return;
    const { rss } = process.memoryUsage();
    if (rss > RESIDENT_BYTES_MAX) throw new Finding(`${this.#place(this.done)}: the process has grown to ${rss} bytes`);
  }

  async run(index: number): Promise<void> {
    this.running = index;
    const drawn = this.#draw(index);
    const problem = await this.#problemOf(drawn);
    if (problem === undefined) return;
    const smallest = await this.#shrink(drawn);
    const cause = (await this.#problemOf(smallest)) ?? problem;
    const what = `sample ${smallest.sample}, ${textOf(smallest.edits)}${smallest.repair ? ', repaired' : ''}`;
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new Finding(`${this.#place(index)}: ${what}: ${message}`, { cause });
  }

  #place(index: number): string {
    return `target '${this.target.name}', seed ${this.#seed}, case ${index}`;
  }

  #draw(index: number): Case {
    const random = new SeededRandom((this.#seed ^ Math.imul(index + 1, 0x9e3779b1)) >>> 0);
    const { samples, fieldsOf } = this.target;
    const sample = random.below(samples.length);
    const bytes = samples[sample] ?? new Uint8Array(0);
    return { sample, edits: randomEdits(random, bytes, fieldsOf(bytes)), repair: random.below(UNREPAIRED) > 0 };
  }

  async #problemOf({ sample, edits, repair }: Case): Promise<unknown> {
    const bytes = applyEdits(this.target.samples[sample] ?? new Uint8Array(0), edits);
    if (repair) this.target.repair(bytes);
    const started = process.cpuUsage();
    try {
      await this.target.run(bytes);
    } catch (error) {
      return error;
    }
    const { user, system } = process.cpuUsage(started);
    const took = (user + system) / 1_000;
    return took > CASE_TIME_MAX ? new Error(`it took ${Math.round(took)} ms`) : undefined;
  }

  /** Leaves out edits, one after the other, as long as the rest still fails. */
  async #shrink(found: Case): Promise<Case> {
    let smallest = found;
    for (let index = found.edits.length - 1; index >= 0; index -= 1) {
      const fewer = { ...smallest, edits: smallest.edits.filter((_, each) => each !== index) };
      if ((await this.#problemOf(fewer)) !== undefined) smallest = fewer;
    }
    return smallest;
  }
}
