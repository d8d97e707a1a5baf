/** Arguments of commands, checked before they meet the state: what passes here can be written and read back exactly. */
import { invalid, shown } from '../../errors/argument-checks.ts';
import { MillraceError } from '../../errors/millrace-error.ts';
import { OBJECT_BYTES_MAX, REFERENCE_BYTES_MAX, STREAM_NAME_BYTES_MAX } from '../../limits/limits.ts';
import type { StreamConfig } from '../../record/stream-config.ts';
import type { CommitRun } from '../coordinator.ts';

const EPOCH_MAX = 2 ** 32 - 1;
const CHECKSUM_PATTERN = /^[0-9a-f]{16}$/;
/** UTF-8 bytes of a worker's name and of a job's token. */
const LABEL_BYTES_MAX = 255;

/** Throws unless `value` is a safe integer in [least, most]. */
export function checkInteger(value: number, what: string, least = 0, most: number = Number.MAX_SAFE_INTEGER): void {
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw invalid(`${what} must be an integer from ${least} to ${most}, got ${shown(value)}`);
  }
}

export function checkEpoch(epoch: number): void {
  checkInteger(epoch, 'an epoch', 0, EPOCH_MAX);
}

/** What a name may look like beyond its size is for the public interface to judge. */
export function checkStreamName(name: string): void {
  const bytes = Buffer.byteLength(name);
  const survives = Buffer.from(name).toString() === name;
  if (bytes === 0 || bytes > STREAM_NAME_BYTES_MAX || !survives) {
    throw new MillraceError(
      'ERR_MILLRACE_INVALID_STREAM_NAME',
      `a stream name is 1 to ${STREAM_NAME_BYTES_MAX} bytes of well-formed text, got ${bytes} bytes`,
    );
  }
}

export function checkLabel(label: string, what: string): void {
  const bytes = Buffer.byteLength(label);
  if (bytes === 0 || bytes > LABEL_BYTES_MAX) throw invalid(`${what} is 1 to ${LABEL_BYTES_MAX} bytes, got ${bytes}`);
}

/** What every backend can store; what else a reference may not hold is for the public interface to judge. */
export function checkTrackingReference(reference: string): void {
  const bytes = Buffer.byteLength(reference);
  const survives = Buffer.from(reference).toString() === reference && !reference.includes('\0');
  if (bytes === 0 || bytes > REFERENCE_BYTES_MAX || !survives) {
    throw new MillraceError(
      'ERR_MILLRACE_INVALID_REFERENCE',
      `a reference is 1 to ${REFERENCE_BYTES_MAX} bytes of well-formed text without U+0000, got ${bytes} bytes`,
    );
  }
}

/** Returns the config with nothing in it but what a config has. */
export function checkConfig(config: StreamConfig): StreamConfig {
  const { compression, retention, cleanup, deletionDeadline } = config;
  if (compression !== 'lz4' && compression !== 'none') throw invalid(`compression ${String(compression)} is unknown`);
  if (cleanup !== 'delete' && cleanup !== 'compact') throw invalid(`cleanup ${String(cleanup)} is unknown`);
  const { maxBytes, maxAge } = retention;
  if (maxBytes !== undefined) checkInteger(maxBytes, 'retention.maxBytes');
  if (maxAge !== undefined) checkInteger(maxAge, 'retention.maxAge');
  if (deletionDeadline !== undefined) checkInteger(deletionDeadline, 'deletionDeadline', 1);
  return {
    compression,
    retention: { ...(maxBytes === undefined ? {} : { maxBytes }), ...(maxAge === undefined ? {} : { maxAge }) },
    cleanup,
    ...(deletionDeadline === undefined ? {} : { deletionDeadline }),
  };
}

export interface ObjectContent {
  readonly key: string;
  readonly bytes: number;
  readonly checksum: string;
  readonly runs: readonly CommitRun[];
}

/** Checks an object's facts, and that its runs lie one after the other inside it. */
export function checkContent(object: ObjectContent): void {
  checkInteger(object.bytes, 'the bytes of an object', 1, OBJECT_BYTES_MAX);
  if (!CHECKSUM_PATTERN.test(object.checksum)) {
    throw invalid(`the checksum of ${object.key} is not 16 lower-case hexadecimal digits`);
  }
  let end = 0;
  for (const run of object.runs) {
    checkRun(run);
    if (run.byteOffset < end) throw invalid(`runs of ${object.key} overlap or are out of order at ${run.byteOffset}`);
    end = run.byteOffset + run.byteLength;
  }
  if (end > object.bytes) throw invalid(`runs of ${object.key} end at ${end}, beyond its ${object.bytes} bytes`);
}

function checkRun(run: CommitRun): void {
  checkInteger(run.streamId, 'a stream id', 1);
  checkInteger(run.firstOffset, 'the first offset of a run');
  checkInteger(run.nextOffset, 'the next offset of a run', run.firstOffset);
  checkInteger(run.records, 'the records of a run', 0, run.nextOffset - run.firstOffset);
  checkInteger(run.userBytes, 'the user bytes of a run');
  checkInteger(run.byteLength, 'the bytes of a run', 1, OBJECT_BYTES_MAX);
  checkInteger(run.trackingBytes, 'the tracking bytes of a run', 0, run.byteLength);
  checkInteger(run.byteOffset, 'the position of a run', 0, OBJECT_BYTES_MAX);
  checkInteger(run.chunks, 'the chunks of a run', 1);
  checkInteger(run.firstTimestamp, 'a timestamp', Number.MIN_SAFE_INTEGER);
  checkInteger(run.lastTimestamp, 'a timestamp', run.firstTimestamp);
  checkEpoch(run.epoch);
}
