/** What events and snapshot rows have in common. */
import { REFERENCE_BYTES_MAX, STREAM_NAME_BYTES_MAX } from '../../limits/limits.ts';
import type { StreamConfig } from '../../record/stream-config.ts';
import type { CommitRun, FlushedSlot, Truncation } from '../coordinator.ts';
import { NONCE_LIMIT } from '../object-key.ts';
import { PayloadError } from './byte-reader.ts';
import { between, choice, fields, optional, text, unsigned, type Codec } from './codec.ts';

export const streamName: Codec<string> = text(STREAM_NAME_BYTES_MAX);
/** Names of consumers and publishers. */
export const reference: Codec<string> = text(REFERENCE_BYTES_MAX);
/** Names of workers, tokens of jobs. */
export const label: Codec<string> = text(255);

/** Ids and object numbers count from 1. */
export const ordinal: Codec<number> = between(1, Number.MAX_SAFE_INTEGER);
export const nonce: Codec<number> = between(0, NONCE_LIMIT - 1);

const compression = choice(['lz4', 'none']);
const cleanup = choice(['delete', 'compact']);
const optionalUnsigned = optional(unsigned);

export const streamConfig: Codec<StreamConfig> = {
  write: (writer, config) => {
    compression.write(writer, config.compression);
    cleanup.write(writer, config.cleanup);
    optionalUnsigned.write(writer, config.retention.maxBytes);
    optionalUnsigned.write(writer, config.retention.maxAge);
    optionalUnsigned.write(writer, config.deletionDeadline);
  },
  read: (reader) => {
    const words = { compression: compression.read(reader), cleanup: cleanup.read(reader) };
    const maxBytes = optionalUnsigned.read(reader);
    const maxAge = optionalUnsigned.read(reader);
    const deletionDeadline = optionalUnsigned.read(reader);
    return {
      ...words,
      retention: { ...(maxBytes === undefined ? {} : { maxBytes }), ...(maxAge === undefined ? {} : { maxAge }) },
      ...(deletionDeadline === undefined ? {} : { deletionDeadline }),
    };
  },
};

export const flushedSlot: Codec<FlushedSlot> = fields<FlushedSlot>({
  lane: unsigned,
  slotSequence: unsigned,
  blockSequence: unsigned,
});

export const truncation: Codec<Truncation> = fields<Truncation>({
  streamId: unsigned,
  nextOffset: unsigned,
  epoch: unsigned,
});

const SNAPSHOT_FLAG = 1;

/** Written out by hand: a store has a million of them, and its manifest little else. */
export const commitRun: Codec<CommitRun> = {
  write: (writer, run) => {
    const span = run.nextOffset - run.firstOffset;
    writer.byte(run.trackingSnapshot === true ? SNAPSHOT_FLAG : 0);
    writer.unsigned(run.streamId);
    writer.unsigned(run.firstOffset);
    writer.unsigned(span);
    writer.unsigned(span - run.records);
    writer.unsigned(run.userBytes);
    writer.unsigned(run.trackingBytes);
    writer.signed(run.firstTimestamp);
    writer.signed(run.lastTimestamp);
    writer.unsigned(run.epoch);
    writer.unsigned(run.byteOffset);
    writer.unsigned(run.byteLength);
    writer.unsigned(run.chunks);
  },
  read: (reader) => {
    const flags = reader.byte();
    if (flags > SNAPSHOT_FLAG) throw new PayloadError(`run flags ${flags} are unknown`);
    const streamId = reader.unsigned();
    const firstOffset = reader.unsigned();
    const span = reader.unsigned();
    const missing = reader.unsigned();
    const run = {
      streamId,
      firstOffset,
      nextOffset: firstOffset + span,
      records: span - missing,
      userBytes: reader.unsigned(),
      trackingBytes: reader.unsigned(),
      firstTimestamp: reader.signed(),
      lastTimestamp: reader.signed(),
      epoch: reader.unsigned(),
      byteOffset: reader.unsigned(),
      byteLength: reader.unsigned(),
      chunks: reader.unsigned(),
      trackingSnapshot: flags === SNAPSHOT_FLAG,
    };
    if (run.records < 0 || !Number.isSafeInteger(run.nextOffset) || streamId === 0 || run.byteLength === 0) {
      throw new PayloadError(`a run of stream ${streamId} at offset ${firstOffset} is impossible`);
    }
    return run;
  },
};
