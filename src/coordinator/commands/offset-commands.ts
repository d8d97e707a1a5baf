/** How far consumers have come, in stores whose logs carry no tracking. */
import { MillraceError } from '../../errors/millrace-error.ts';
import { REFERENCES_MAX } from '../../limits/limits.ts';
import type { ConsumerOffset } from '../state/event.ts';
import type { StreamRow } from '../state/rows.ts';
import type { State } from '../state/state.ts';
import { checkInteger, checkTrackingReference } from './checks.ts';
import { decide, findStreamRow, type Decision } from './decision.ts';

export function storeOffsets(
  state: State,
  streamId: number,
  offsets: ReadonlyMap<string, number | undefined>,
): Decision<void> {
  const stream = findStreamRow(state, streamId);
  const held = trackedOffsets(stream);
  const stored: ConsumerOffset[] = [];
  const removed: string[] = [];
  for (const [reference, offset] of offsets) {
    checkTrackingReference(reference);
    if (offset === undefined || offset < stream.firstOffset) {
      if (held.delete(reference)) removed.push(reference);
      continue;
    }
    checkInteger(offset, "a consumer's offset");
    if (offset >= stream.nextOffset) throw beyondEnd(stream, reference, offset);
    if (held.get(reference) === offset) continue;
    held.set(reference, offset);
    stored.push({ reference, offset });
  }
  if (held.size > REFERENCES_MAX) throw tooMany(streamId, held.size);
  if (stored.length === 0 && removed.length === 0) return decide(undefined);
  return decide(undefined, { type: 'offsetsStored', streamId, stored, removed });
}

/** From the log start on: the others are dropped with the next change. */
export function trackedOffsets({ consumers, firstOffset }: StreamRow): Map<string, number> {
  return new Map([...consumers].filter(([, offset]) => offset >= firstOffset));
}

function beyondEnd({ streamId, nextOffset }: StreamRow, reference: string, offset: number): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_OFFSET_OUT_OF_RANGE',
    `consumer ${reference} cannot be at offset ${offset}: stream ${streamId} holds offsets below ${nextOffset}`,
    { details: { streamId, offset, nextOffset } },
  );
}

function tooMany(streamId: number, count: number): MillraceError {
  return new MillraceError(
    'ERR_MILLRACE_TOO_MANY_REFERENCES',
    `stream ${streamId} would have ${count} references, ${REFERENCES_MAX} are the most it may have: delete some first`,
    { details: { streamId, count, limit: REFERENCES_MAX } },
  );
}
