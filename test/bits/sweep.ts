/** Runs damages against a subject: all of them, or a seeded share, and tells which one was not noticed. */
import type { SeededRandom } from '../../src/base/random.ts';
import { type DamageSpace, everyDamage } from './damages.ts';
import type { Subject } from './subject.ts';

export class UnnoticedDamage extends Error {
  override readonly name = 'UnnoticedDamage';
}

/** Damage `index` of the subject, with what went wrong in the message. */
export async function checkDamage(subject: Subject, space: DamageSpace, index: number): Promise<void> {
  const damage = space.at(index);
  try {
    await subject.check(damage.apply(subject.bytes));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new UnnoticedDamage(`${subject.name}, damage ${index}, ${damage.label}: ${reason}`, { cause });
  }
}

/** `share` of all damages, drawn evenly: one out of every so many, at a random place among them. */
export async function sweep(subject: Subject, share: number, random: SeededRandom): Promise<number> {
  const space = everyDamage(subject.bytes, subject.donors);
  const cases = Math.max(1, Math.ceil(space.count * share));
  for (let index = 0; index < cases; index += 1) {
    const [from, to] = [Math.floor((index * space.count) / cases), Math.floor(((index + 1) * space.count) / cases)];
    await checkDamage(subject, space, from + random.below(Math.max(1, to - from)));
  }
  return cases;
}
