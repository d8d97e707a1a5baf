/**
 * A planted bug: a small wrong change of the production code, and the tests that have to notice it. The lists in `bugs`
 * are data; `campaign.ts` plants one after the other.
 */

/** The tests of a file, `test/<file>.test.ts`, whose name has `only`. */
export interface Suite {
  readonly file: string;
  readonly only: string;
}

export interface PlantedBug {
  /** What the programmer did wrong, in the words of the field. */
  readonly name: string;
  /** The production file. */
  readonly file: string;
  /** A piece of the file, which occurs in it exactly once. */
  readonly source: string;
  readonly replacement: string;
  /** The promise that no longer holds. */
  readonly breaks: string;
  /** Who has to notice it: the cheapest of those that do. */
  readonly caughtBy: Suite;
  /** What its suite cannot do without, and is skipped without. */
  readonly needs?: 'postgres';
}

export function test(file: string, only: string): Suite {
  return { file, only };
}

/** The file with the bug in it. Throws when its place is not found, or is not the only one. */
export function plant(text: string, { name, file, source, replacement }: PlantedBug): string {
  const at = text.indexOf(source);
  if (at < 0) throw new Error(`${name}: ${file} does not have this any more, choose the piece anew:\n${source}`);
  if (text.includes(source, at + 1)) throw new Error(`${name}: ${file} has this more than once:\n${source}`);
  return text.slice(0, at) + replacement + text.slice(at + source.length);
}
