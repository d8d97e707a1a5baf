/** Runs damages against subjects, each at most once, and tells which one was not noticed. */
import { loadChecksum } from '../../src/codec/checksum.ts';
import { type DamageSpace, everyDamage } from './damages.ts';
import { manifestSubjects } from './manifest-subject.ts';
import { segmentSubjects } from './segment-subject.ts';
import { slotSubjects } from './slot-subject.ts';
import { smallSubjects } from './small-subjects.ts';
import type { Subject } from './subject.ts';

/** Every file kind of the golden stores. */
export async function everySubject(): Promise<Subject[]> {
  await loadChecksum();
  return [
    ...(await slotSubjects()),
    ...(await segmentSubjects()),
    ...(await manifestSubjects()),
    ...(await smallSubjects()),
  ];
}

class UnnoticedDamage extends Error {
  override readonly name = 'UnnoticedDamage';
}

/** The damages of one subject in an order that `seed` decides, without repetition. */
export class Sweep {
  readonly subject: Subject;
  readonly #space: DamageSpace;
  readonly #first: number;
  readonly #step: number;
  /** Cases that have run. */
  done = 0;

  constructor(subject: Subject, seed: number) {
    this.subject = subject;
    this.#space = subject.space ?? everyDamage(subject.bytes, subject.donors);
    this.#first = seed % this.#space.count;
    // About a golden section apart, so that a part of the cases is spread over all of the file.
    this.#step = coprimeTo(this.#space.count, Math.floor(this.#space.count * 0.618));
  }

  get count(): number {
    return this.#space.count;
  }

  /** Runs the next case; false when all have run. */
  async next(): Promise<boolean> {
    if (this.done === this.count) return false;
    const index = Number((BigInt(this.#first) + BigInt(this.done) * BigInt(this.#step)) % BigInt(this.count));
    this.done += 1;
    await this.run(index);
    return true;
  }

  /** Runs one case. Throws `UnnoticedDamage`, with the case in the message. */
  async run(index: number): Promise<void> {
    const damage = this.#space.at(index);
    try {
      await this.subject.check(damage.apply(this.subject.bytes));
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new UnnoticedDamage(`${this.subject.name}, case ${index}, ${damage.label}: ${reason}`, { cause });
    }
  }
}

/** Runs the cases of all sweeps as one list, from the given one on, and yields the number of each. */
export async function* sweepFrom(sweeps: readonly Sweep[], first: number): AsyncGenerator<number> {
  let before = 0;
  for (const sweep of sweeps) {
    for (let index = Math.max(0, first - before); index < sweep.count; index += 1) {
      await sweep.run(index);
      yield before + index;
    }
    before += sweep.count;
  }
}

function coprimeTo(count: number, near: number): number {
  let step = Math.max(1, near);
  while (divisor(step, count) !== 1) step += 1;
  return step;
}

function divisor(left: number, right: number): number {
  return right === 0 ? left : divisor(right, left % right);
}
