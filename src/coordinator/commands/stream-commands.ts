import { MillraceError } from '../../errors/millrace-error.ts';
import type { StreamConfig, StreamDescription } from '../../record/stream-config.ts';
import type { Trimmed, Truncation } from '../coordinator.ts';
import { describeStream } from '../queries/stream-queries.ts';
import type { StreamRow } from '../state/rows.ts';
import { RUN } from '../state/run-table.ts';
import type { State } from '../state/state.ts';
import { countBelow, trackingAnchor } from '../state/stream-runs.ts';
import { checkConfig, checkEpoch, checkInteger, checkStreamName } from './checks.ts';
import { conflict, decide, findStreamRow, type Decision } from './decision.ts';

export function createStream(
  state: State,
  name: string,
  config: StreamConfig,
): Decision<{ stream: StreamDescription; created: boolean }> {
  checkStreamName(name);
  const existing = state.streamsByName.get(name);
  if (existing !== undefined) return decide({ stream: describeStream(existing), created: false });
  const stream = { streamId: state.nextStreamId, name, config: checkConfig(config) };
  return decide({ stream, created: true }, { type: 'streamCreated', ...stream });
}

export function configureStream(state: State, streamId: number, config: StreamConfig): Decision<StreamDescription> {
  const { name } = findStreamRow(state, streamId);
  const description = { streamId, name, config: checkConfig(config) };
  return decide(description, { type: 'streamConfigured', streamId, config: description.config });
}

export function deleteStream(state: State, streamId: number): Decision<boolean> {
  if (!state.streams.has(streamId)) return decide(false);
  return decide(true, { type: 'streamDeleted', streamId });
}

export function trimStream(state: State, streamId: number, beforeOffset: number): Decision<Trimmed> {
  checkInteger(beforeOffset, 'the offset to trim before');
  const stream = findStreamRow(state, streamId);
  if (beforeOffset > stream.nextOffset) {
    throw outOfRange(stream, `cannot trim before ${beforeOffset}`, beforeOffset);
  }
  if (beforeOffset <= stream.firstOffset) return decide({ firstOffset: stream.firstOffset, runs: 0, bytes: 0 });
  return decide(dyingRuns(state, stream, beforeOffset), {
    type: 'streamTrimmed',
    streamId,
    firstOffset: beforeOffset,
  });
}

/** What a log start at `firstOffset` would let die. */
export function dyingRuns(state: State, stream: StreamRow, firstOffset: number): Trimmed {
  const held = stream.heldRuns + countBelow(state, stream, firstOffset);
  const runs = Math.min(held, trackingAnchor(state, stream));
  let bytes = 0;
  for (let index = 0; index < runs; index += 1) bytes += state.runs.get(stream.runs.at(index), RUN.byteLength);
  return { firstOffset, runs, bytes };
}

export function truncateStream(state: State, truncation: Truncation): Decision<void> {
  const { streamId, nextOffset, epoch } = truncation;
  const stream = findStreamRow(state, streamId);
  if (epoch === stream.epoch && nextOffset === stream.nextOffset) return decide(undefined);
  checkTruncation(stream, truncation, stream.nextOffset, stream.epoch);
  return decide(undefined, { type: 'streamTruncated', streamId, nextOffset, epoch });
}

/** Throws unless a stream whose watermark and epoch are these may be truncated so. */
export function checkTruncation(stream: StreamRow, truncation: Truncation, watermark: number, epoch: number): void {
  checkInteger(truncation.nextOffset, 'the next offset of a truncation');
  checkEpoch(truncation.epoch);
  if (truncation.epoch <= epoch) {
    throw conflict(
      `stream ${stream.streamId} is at epoch ${epoch}, a truncation under epoch ${truncation.epoch} comes too late`,
      { streamId: stream.streamId, expected: epoch, actual: truncation.epoch },
    );
  }
  if (truncation.nextOffset < stream.firstOffset || truncation.nextOffset > watermark) {
    throw outOfRange(stream, `cannot truncate to ${truncation.nextOffset}`, truncation.nextOffset);
  }
}

function outOfRange(stream: StreamRow, what: string, offset: number): MillraceError {
  const { streamId, firstOffset, nextOffset } = stream;
  return new MillraceError(
    'ERR_MILLRACE_OFFSET_OUT_OF_RANGE',
    `${what}: stream ${streamId} holds offsets from ${firstOffset} up to ${nextOffset} in objects`,
    { details: { streamId, offset, firstOffset, nextOffset } },
  );
}
