/**
 * A command is judged against the state without changing it: what it decides is events to write, and the answer to give
 * once they are durable. It throws a coded error instead when the state does not allow it.
 */
import { MillraceError, type ErrorDetails } from '../../errors/millrace-error.ts';
import type { StateEvent } from '../state/event.ts';
import type { StreamRow } from '../state/rows.ts';
import type { State } from '../state/state.ts';

export interface Decision<Answer> {
  readonly events: readonly StateEvent[];
  readonly answer: Answer;
}

/** A command bound to its arguments. */
export type Command<Answer> = (state: State) => Decision<Answer>;

export function decide<Answer>(answer: Answer, ...events: readonly StateEvent[]): Decision<Answer> {
  return { events, answer };
}

export function conflict(message: string, details: ErrorDetails = {}): MillraceError {
  return new MillraceError('ERR_MILLRACE_CONFLICT', message, { details });
}

export function findStreamRow(state: State, streamId: number): StreamRow {
  const stream = state.streams.get(streamId);
  if (stream === undefined) {
    throw new MillraceError('ERR_MILLRACE_STREAM_NOT_FOUND', `there is no stream with id ${streamId}`, {
      details: { streamId },
    });
  }
  return stream;
}
