/** Which runs of a stream an operation has to see. */
import type { Tables } from './tables.ts';

/**
 * The runs of stream $1 at the positions from $2 to $3, by position, together with
 * - those that are held, and the first one that is not: a change of the log start or of the tracking may end them,
 * - the neighbours on both sides, which the list has to continue,
 * - on both sides the newest snapshot and the oldest run with tracking: they decide how long runs are held.
 */
export function windowQuery({ runs, streams }: Tables): string {
  const held = 'run.end_offset <= stream.first_offset AND run.first_offset < stream.first_offset';
  const one = (condition: string, order: string): string => {
    return `(SELECT position FROM ${runs} AS run WHERE stream_id = $1 AND ${condition} ORDER BY ${order} LIMIT 1)`;
  };
  return `
    WITH stream AS (SELECT first_offset FROM ${streams} WHERE stream_id = $1),
    wanted AS (
      SELECT position FROM ${runs} WHERE stream_id = $1 AND position BETWEEN $2 AND $3
      UNION SELECT position FROM ${runs} AS run, stream WHERE stream_id = $1 AND ${held}
      UNION (
        SELECT position FROM ${runs} AS run, stream
        WHERE stream_id = $1 AND end_offset >= stream.first_offset AND NOT (${held})
        ORDER BY end_offset, position LIMIT 1
      )
      UNION ${one('position < $2', 'position DESC')}
      UNION ${one('position > $3', 'position')}
      UNION ${one('position < $2 AND tracking_snapshot', 'position DESC')}
      UNION ${one('position > $3 AND tracking_snapshot', 'position DESC')}
      UNION ${one('position < $2 AND tracking_bytes > 0', 'position')}
      UNION ${one('position > $3 AND tracking_bytes > 0', 'position')}
    )
    SELECT run.* FROM ${runs} AS run JOIN wanted USING (position) WHERE stream_id = $1 ORDER BY position
  `;
}
