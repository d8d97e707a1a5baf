/** What every kind of file is turned into before it is printed. */
import type { Cell } from '../text.ts';
import type { InputFile } from './input-file.ts';

export interface DumpOptions {
  /** List the frames of a slot's blocks. */
  readonly frames: boolean;
}

export interface DumpTable {
  readonly heading: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

export interface FileDump {
  /** For people: names and values, then tables. */
  readonly facts: readonly (readonly [string, Cell])[];
  readonly tables: readonly DumpTable[];
  /** For programs: the same and more. */
  readonly json: object;
  /** A sentence for each thing that is not what was written. */
  readonly problems: readonly string[];
}

/** A kind of file: how it is recognized, and how it is described. */
export interface Dumper {
  readonly kind: string;
  readonly magic: { readonly position: number; readonly value: number };
  /** Damage is reported in the dump; throws when nothing can be told at all. */
  dump(input: InputFile, options: DumpOptions): Promise<FileDump>;
}

/** Every magic lies in the first bytes of its file. */
export const MAGIC_READ_BYTES = 12;
