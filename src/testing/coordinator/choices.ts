/** Random histories as lists of choices: what to do, with numbers that choose among what is there by then. */
import fc from 'fast-check';

export interface Choice<Kind extends string> {
  readonly kind: Kind;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

const CHOICE_MAX = 1000;

/** Lists of `minLength` to `maxLength` choices; a kind that is named more often comes more often. */
export function choicesOf<Kind extends string>(
  kinds: readonly Kind[],
  lengths: { readonly minLength: number; readonly maxLength: number },
): fc.Arbitrary<Choice<Kind>[]> {
  const number = fc.nat({ max: CHOICE_MAX });
  const choice = fc.record({ kind: fc.constantFrom(...kinds), a: number, b: number, c: number });
  return fc.array(choice, { ...lengths, size: 'max' });
}
