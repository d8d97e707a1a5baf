/** Options of a stream, checked against what the coordinator stores. */
import { invalid, shown } from '../errors/argument-checks.ts';
import { checkOptionNames } from '../errors/option-names.ts';
import { STREAM_CONFIG_DEFAULT, type Retention, type StreamConfig } from '../record/stream-config.ts';

/** Every option may be left out: a new stream takes the default, an existing one keeps what it has. */
export type StreamOptions = Partial<Omit<StreamConfig, 'deletionDeadline'>> & {
  /** As in `StreamConfig`; `null` switches it off. */
  readonly deletionDeadline?: number | null;
};

const NAMES = new Set(['compression', 'retention', 'cleanup', 'deletionDeadline']);
const RETENTION_NAMES = new Set(['maxBytes', 'maxAge']);

/** `base` with the options given; throws `ERR_MILLRACE_INVALID_ARGUMENT` naming option and range. */
export function configOf(options: StreamOptions, base: StreamConfig = STREAM_CONFIG_DEFAULT): StreamConfig {
  checkOptionNames(options, NAMES, 'a stream');
  const compression = options.compression ?? base.compression;
  const cleanup = options.cleanup ?? base.cleanup;
  if (compression !== 'lz4' && compression !== 'none') throw invalid("option compression is 'lz4' or 'none'");
  if (cleanup !== 'delete' && cleanup !== 'compact') throw invalid("option cleanup is 'delete' or 'compact'");
  const retention = options.retention === undefined ? base.retention : retentionOf(options.retention);
  const wanted = options.deletionDeadline === undefined ? base.deletionDeadline : options.deletionDeadline;
  const deletionDeadline = limit('deletionDeadline', wanted ?? undefined);
  return { compression, cleanup, retention, ...(deletionDeadline === undefined ? {} : { deletionDeadline }) };
}

function retentionOf(retention: Retention): Retention {
  checkOptionNames(retention, RETENTION_NAMES, 'a stream', 'retention.');
  const maxBytes = limit('retention.maxBytes', retention.maxBytes);
  const maxAge = limit('retention.maxAge', retention.maxAge);
  return { ...(maxBytes === undefined ? {} : { maxBytes }), ...(maxAge === undefined ? {} : { maxAge }) };
}

function limit(name: string, value: number | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (!Number.isSafeInteger(value) || value < 1) {
    throw invalid(`option ${name} is a whole number from 1 on, not ${shown(value)}`);
  }
  return value;
}
