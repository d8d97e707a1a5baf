/** What `npm start` takes on its command line. */
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';

export interface StartOptions {
  readonly bytes: number;
  /** The store is made in a new directory in here. */
  readonly dir: string;
  readonly keep: boolean;
  readonly json: boolean;
  readonly help: boolean;
}

export const HELP: string = `usage: npm start -- [--bytes <size>] [--dir <directory>] [--keep] [--json]

Ingests real records durably in a child process, kills it midway, recovers, proves that every
acknowledged record is there, ingests the rest and reads everything back.

  --bytes <size>  user bytes in total, such as 250MB (default 1GB)
  --dir <path>    where to make the store's directory (default ${tmpdir()})
  --keep          leave the data there
  --json          print the figures as a JSON object
`;

const BYTES_DEFAULT = 1e9;
const SIZE = /^(\d+(?:\.\d+)?) ?(B|kB|MB|GB)?$/i;
const UNITS: Readonly<Record<string, number>> = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9 };

/** Throws an error that says what is wrong. */
export function parseOptions(args: readonly string[]): StartOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      bytes: { type: 'string' },
      dir: { type: 'string', default: tmpdir() },
      keep: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  return { ...values, bytes: values.bytes === undefined ? BYTES_DEFAULT : parseSize(values.bytes) };
}

function parseSize(text: string): number {
  const match = SIZE.exec(text);
  const size = match === null ? NaN : Number(match[1]) * (UNITS[(match[2] ?? 'B').toLowerCase()] ?? NaN);
  if (Number.isSafeInteger(size) && size > 0) return size;
  throw new Error(`--bytes takes a size such as 250MB, not ${JSON.stringify(text)}`);
}
