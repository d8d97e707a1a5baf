/** Checks every invariant where the rows are: each question returns a sentence for each violation. */
import type { Database } from './database.ts';
import { LONG_SILENCE } from './session.ts';
import type { Tables } from './tables.ts';

export function verify(database: Database): Promise<string[]> {
  const questions = [...streamQuestions(database.tables), ...objectQuestions(database.tables)];
  return database.readMoment(async (session) => {
    // Looking at everything takes as long as there is something to look at.
    await session.script('SET LOCAL statement_timeout = 0');
    const found: string[] = [];
    for (const question of questions) {
      const rows = await session.rows<{ violation: string }>(question);
      found.push(...rows.map(({ violation }) => violation));
    }
    return found;
  }, LONG_SILENCE);
}

/** Live runs tile [log start, high watermark), and the sums of a stream are those of its runs. */
function streamQuestions({ streams, runs, counters, publisher_marks }: Tables): string[] {
  const isHeld = 'run.end_offset <= stream.first_offset AND run.first_offset < stream.first_offset';
  const isDense = 'run.records = run.next_offset - run.first_offset';
  const records = `CASE WHEN ${isDense} THEN run.end_offset - run.first_offset ELSE run.records END`;
  const sumOf = (value: string, condition: string): string => {
    return `coalesce(sum(${value}) FILTER (WHERE ${condition}), 0)::bigint`;
  };
  const sums: Readonly<Record<string, string>> = {
    held_runs: sumOf('1', isHeld),
    held_bytes: sumOf('run.byte_length', isHeld),
    records: sumOf(records, `NOT (${isHeld})`),
    user_bytes: sumOf('run.user_bytes', `NOT (${isHeld})`),
    tracking_bytes: sumOf('run.tracking_bytes', `NOT (${isHeld})`),
    stored_bytes: sumOf('run.byte_length', `NOT (${isHeld})`),
    snapshot_runs: sumOf('1', 'run.tracking_snapshot'),
    tracking_runs: sumOf('1', 'run.tracking_bytes > 0'),
  };
  const kept = `(${Object.keys(sums)
    .map((name) => `stream.${name}`)
    .join(', ')})`;
  const counted = `(${Object.values(sums).join(', ')})`;
  return [
    `SELECT format('stream %s: a run starts at %s instead of %s', stream_id, first_offset, expected) AS violation FROM (
      SELECT stream_id, first_offset, lag(end_offset) OVER list AS expected FROM ${runs}
      WINDOW list AS (PARTITION BY stream_id ORDER BY position)
    ) AS run WHERE first_offset <> expected`,
    `SELECT format('stream %s: the run at %s ends at %s', stream_id, first_offset, end_offset) AS violation
      FROM ${runs} WHERE end_offset < first_offset OR end_offset > next_offset`,
    `SELECT format('stream %s: holds %s to %s, its runs %s to %s', stream.stream_id, stream.first_offset,
        stream.next_offset, min(run.first_offset), max(run.end_offset)) AS violation
      FROM ${streams} AS stream LEFT JOIN ${runs} AS run USING (stream_id) GROUP BY stream.stream_id
      HAVING coalesce(min(run.first_offset), stream.first_offset) > stream.first_offset
        OR coalesce(max(run.end_offset), stream.first_offset) <> stream.next_offset
        OR coalesce(max(run.position), 0) >= stream.next_position`,
    `SELECT format('stream %s: counts %s, its runs add up to %s', stream.stream_id, ${kept}, ${counted}) AS violation
      FROM ${streams} AS stream LEFT JOIN ${runs} AS run USING (stream_id) GROUP BY stream.stream_id
      HAVING ${kept} IS DISTINCT FROM ${counted}`,
    `SELECT format('stream %s: counts %s publishers and has %s', stream.stream_id, publishers, count(reference))
        AS violation FROM ${streams} AS stream LEFT JOIN ${publisher_marks} USING (stream_id) GROUP BY stream.stream_id
      HAVING publishers <> count(reference)`,
    `SELECT format('stream %s: its id was not handed out', stream_id) AS violation
      FROM ${streams}, ${counters} AS counter WHERE counter.name = 'stream' AND stream_id >= next`,
  ];
}

/** A live run lies in exactly one committed object, and the counts of an object are those of its runs. */
function objectQuestions({ objects, runs, jobs, job_inputs, counters }: Tables): string[] {
  const kept = '(object.live_runs, object.live_bytes, object.live_tracking_bytes)';
  const counted = `(count(run.position), coalesce(sum(run.byte_length), 0)::bigint,
    coalesce(sum(run.tracking_bytes), 0)::bigint)`;
  return [
    `SELECT format('object %s: counts %s, its runs add up to %s', number, ${kept}, ${counted}) AS violation
      FROM ${objects} AS object LEFT JOIN ${runs} AS run ON object_number = number GROUP BY number
      HAVING ${kept} IS DISTINCT FROM ${counted}`,
    `SELECT format('object %s: is %s with %s live bytes', number, state, live_bytes) AS violation
      FROM ${objects} WHERE (state = 'committed') <> (live_bytes > 0)`,
    `SELECT format('object %s: two runs overlap at %s', object_number, byte_offset) AS violation FROM (
      SELECT object_number, byte_offset, lag(byte_offset + byte_length) OVER object AS taken FROM ${runs}
      WINDOW object AS (PARTITION BY object_number ORDER BY byte_offset)
    ) AS run WHERE byte_offset < taken`,
    `SELECT format('object %s: the run at %s lies beyond its end', number, byte_offset) AS violation
      FROM ${objects} AS object JOIN ${runs} ON object_number = number WHERE byte_offset + byte_length > object.bytes`,
    `SELECT format('object %s: its number was not handed out', number) AS violation
      FROM ${objects}, ${counters} WHERE name = 'object' AND number >= next`,
    `SELECT format('job %s: has no inputs', job_id) AS violation
      FROM ${jobs} AS job WHERE NOT EXISTS (SELECT FROM ${job_inputs} AS input WHERE input.job_id = job.job_id)`,
  ];
}
