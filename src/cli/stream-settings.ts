/** The settings of a stream as options of a command, and as lines for people. */
import { type Command, InvalidArgumentError } from 'commander';
import type { Cleanup, Compression, Retention, StreamConfig } from '../record/stream-config.ts';
import type { StreamOptions } from '../stream/stream-options.ts';
import { parseBytes, parseCompression, parseDuration } from './arguments.ts';
import { bytes, type Cell, count } from './text.ts';

/** `none` takes a limit away. */
type Limit = number | 'none';

export interface StreamSettings {
  readonly maxBytes?: Limit;
  readonly maxAge?: Limit;
  readonly compression?: Compression;
  readonly cleanup?: Cleanup;
  readonly deletionDeadline?: Limit;
}

export function withStreamSettings(command: Command): Command {
  return command
    .option(
      '--max-bytes <n>',
      'retention: bytes of keys and values to keep at least, such as 10GiB, or none',
      parseSize,
    )
    .option('--max-age <ms>', 'retention: how long to keep a record after its timestamp, such as 7d, or none', parseAge)
    .option('--compression <codec>', 'lz4 or none, from now on; a new stream takes lz4', parseCompression)
    .option('--cleanup <policy>', 'delete, or compact to keep the latest record of each key', parseCleanup)
    .option(
      '--deletion-deadline <ms>',
      'how long until the bytes of removed records are gone, such as 24h, or none',
      parseAge,
    );
}

/** What the settings change in a stream that has `config`: a retention limit that is not named stays. */
export function streamOptionsOf(settings: StreamSettings, config: StreamConfig | undefined): StreamOptions {
  const { maxBytes, maxAge, compression, cleanup, deletionDeadline } = settings;
  const retention = retentionOf(config?.retention ?? {}, maxBytes, maxAge);
  return {
    ...(maxBytes === undefined && maxAge === undefined ? {} : { retention }),
    ...(compression === undefined ? {} : { compression }),
    ...(cleanup === undefined ? {} : { cleanup }),
    ...(deletionDeadline === undefined
      ? {}
      : { deletionDeadline: deletionDeadline === 'none' ? null : deletionDeadline }),
  };
}

export function describeConfig(config: StreamConfig): readonly (readonly [string, Cell])[] {
  const { maxBytes, maxAge } = config.retention;
  const limits = [
    ...(maxBytes === undefined ? [] : [bytes(maxBytes)]),
    ...(maxAge === undefined ? [] : [`${count(maxAge)} ms`]),
  ];
  return [
    ['compression', config.compression],
    ['cleanup', config.cleanup],
    ['retention', limits.length === 0 ? 'unlimited' : limits.join(', ')],
    ['deletion deadline', config.deletionDeadline === undefined ? 'off' : `${count(config.deletionDeadline)} ms`],
  ];
}

function retentionOf(before: Retention, maxBytes: Limit | undefined, maxAge: Limit | undefined): Retention {
  const kept = { maxBytes: maxBytes ?? before.maxBytes, maxAge: maxAge ?? before.maxAge };
  return {
    ...(typeof kept.maxBytes === 'number' ? { maxBytes: kept.maxBytes } : {}),
    ...(typeof kept.maxAge === 'number' ? { maxAge: kept.maxAge } : {}),
  };
}

function parseAge(text: string): Limit {
  return text === 'none' ? text : parseDuration(text);
}

function parseSize(text: string): Limit {
  return text === 'none' ? text : parseBytes(text);
}

function parseCleanup(text: string): Cleanup {
  if (text === 'delete' || text === 'compact') return text;
  throw new InvalidArgumentError('Use delete or compact.');
}
