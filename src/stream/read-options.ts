/** How a stream is read. */
import { checkFunction, checkSignal, flag, invalid, shown } from '../errors/argument-checks.ts';
import { checkOptionNames } from '../errors/option-names.ts';

/** Where reading starts. */
export type ReadFrom =
  /** The oldest record. */
  | 'first'
  /** The newest record. */
  | 'last'
  /** Behind the newest record: only what becomes durable from now on. */
  | 'next'
  /** At this offset. */
  | number
  /** At the first record with this timestamp or a later one, in offset order. */
  | {
      /** Milliseconds since the epoch. */
      readonly timestamp: number;
    }
  /** Behind the offset stored for this reference; at the oldest record when there is none. */
  | {
      /** The name that the offset was stored under. */
      readonly reference: string;
    };

/** How a stream is read. */
export interface ReadOptions {
  /** Default `first`. */
  readonly from?: ReadFrom;
  /** Stop after this many records. Default unlimited. */
  readonly limit?: number;
  /** Wait for new records at the end instead of stopping. Default false. */
  readonly follow?: boolean;
  /** Ends the reading with `ERR_MILLRACE_ABORTED`. */
  readonly signal?: AbortSignal;
  /**
   * When retention or a trim has removed the next record: `error` (default) ends the reading with
   * `ERR_MILLRACE_OFFSET_OUT_OF_RANGE`; `skip` goes on at the oldest record that is left.
   */
  readonly onTrimmed?: 'error' | 'skip';
  /** Told of the offsets that `skip` passed over: [from, to). */
  readonly skipped?: (from: number, to: number) => void;
}

/** How a stream is read batch by batch. */
export interface BatchReadOptions extends ReadOptions {
  /**
   * Read each batch into the memory of the one before: a batch, its keys and its values are then valid only until the
   * next one is asked for. For readers that are done with a batch by then, it saves allocating as many bytes as are
   * read, and collecting them. Default false.
   */
  readonly reuse?: boolean;
}

const NAMES: ReadonlySet<string> = new Set(['from', 'limit', 'follow', 'signal', 'onTrimmed', 'skipped']);
const BATCH_NAMES: ReadonlySet<string> = new Set([...NAMES, 'reuse']);
const PLACES: ReadonlySet<unknown> = new Set(['first', 'last', 'next']);

/** Throws `ERR_MILLRACE_INVALID_ARGUMENT` naming the option; offsets and references are judged by the stream. */
export function checkReadOptions(options: ReadOptions): void {
  check(options, NAMES);
}

/** As `checkReadOptions`. */
export function checkBatchReadOptions(options: BatchReadOptions): void {
  check(options, BATCH_NAMES);
  flag('reuse', options.reuse);
}

function check(options: ReadOptions, names: ReadonlySet<string>): void {
  checkOptionNames(options, names, 'reading');
  const { from = 'first', limit = Infinity, onTrimmed = 'error', signal } = options;
  if (limit !== Infinity && !(Number.isSafeInteger(limit) && limit >= 0)) {
    throw invalid(`limit ${shown(limit)} is not a whole number from 0 on`);
  }
  if (!isPlace(from)) {
    throw invalid(`from is 'first', 'last', 'next', an offset, { timestamp } or { reference }, not ${shown(from)}`);
  }
  if (!(onTrimmed === 'error' || onTrimmed === 'skip')) throw invalid("option onTrimmed is 'error' or 'skip'");
  flag('follow', options.follow);
  checkSignal(signal);
  checkFunction('skipped', options.skipped);
}

function isPlace(from: unknown): boolean {
  if (typeof from === 'number' || PLACES.has(from)) return true;
  if (typeof from !== 'object' || from === null) return false;
  if (!('timestamp' in from)) return 'reference' in from;
  if (Number.isFinite(from.timestamp)) return true;
  throw invalid(`timestamp ${shown(from.timestamp)} is not a number of milliseconds`);
}
