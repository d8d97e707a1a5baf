/** Enforces retention stream by stream, each in short transactions of its own. */
import { checkInteger } from '../commands/checks.ts';
import { decide, type Decision } from '../commands/decision.ts';
import { coversOffsets, enforceRetention, RETENTION_RUNS_DEFAULT } from '../commands/retention.ts';
import type { RetentionResult } from '../coordinator.ts';
import type { State } from '../state/state.ts';
import { countBelow } from '../state/stream-runs.ts';
import { change, timeOf } from './change.ts';
import type { Database } from './database.ts';
import { FAR, type Loader } from './loader.ts';
import type { RunRecord } from './records.ts';
import type { Tables } from './tables.ts';

/** Runs that one transaction judges. */
const STEP_RUNS = 256;

type TrimmedStream = RetentionResult['streams'][number];

interface Step extends RetentionResult {
  /** How much of the limit it used. */
  readonly taken: number;
}

export async function keepRetention(
  database: Database,
  streamId: number | undefined,
  limits: { readonly maxRuns?: number } = {},
): Promise<RetentionResult> {
  const { maxRuns = RETENTION_RUNS_DEFAULT } = limits;
  checkInteger(maxRuns, 'maxRuns', 1);
  const targets = streamId === undefined ? await dueStreams(database) : [streamId];
  const streams: TrimmedStream[] = [];
  let budget = maxRuns;
  let more = false;
  for (const target of targets) {
    const shortened = await shorten(database, target, budget, streamId !== undefined);
    budget -= shortened.taken;
    more ||= shortened.more;
    streams.push(...shortened.streams);
  }
  return { streams, more };
}

/** Step by step, until nothing more is to go or the budget is used up. */
async function shorten(database: Database, streamId: number, budget: number, mustExist: boolean): Promise<Step> {
  let sum: TrimmedStream | undefined;
  let taken = 0;
  for (;;) {
    const step = await takeStep(database, streamId, budget - taken, mustExist);
    const [trimmed] = step.streams;
    taken += step.taken;
    if (trimmed !== undefined) {
      const { runs, bytes } = sum ?? { runs: 0, bytes: 0 };
      sum = { ...trimmed, runs: runs + trimmed.runs, bytes: bytes + trimmed.bytes };
    }
    const goesOn = step.more && taken < budget && trimmed !== undefined;
    if (!goesOn) return { streams: sum === undefined ? [] : [sum], more: step.more, taken };
  }
}

/** Streams that retention may shorten, by ascending id: judged by their size and by the oldest run that can go. */
async function dueStreams(database: Database): Promise<number[]> {
  const { streams, runs } = database.tables;
  const rows = await database.read((session) => {
    return session.rows<{ stream_id: number }>(`
      SELECT stream_id FROM ${streams} AS stream CROSS JOIN LATERAL (
        SELECT run.records, last_timestamp FROM ${runs} AS run
        WHERE run.stream_id = stream.stream_id AND end_offset > stream.first_offset AND end_offset > run.first_offset
        ORDER BY end_offset, position LIMIT 1
      ) AS oldest
      WHERE config ->> 'retention' <> '{}' AND (
        user_bytes >= (config #>> '{retention,maxBytes}')::bigint
        OR last_timestamp < ${timeOf(database.tables)} - (config #>> '{retention,maxAge}')::bigint
        OR oldest.records = 0
      )
      ORDER BY stream_id
    `);
  });
  return rows.map(({ stream_id }) => stream_id);
}

/** With no budget left, only tells whether there would be something to do. */
function takeStep(database: Database, streamId: number, budget: number, mustExist: boolean): Promise<Step> {
  const maxRuns = Math.max(1, Math.min(budget, STEP_RUNS));
  return change(
    database,
    (loader) => loadOldest(loader, streamId, maxRuns),
    (state) => {
      const isGone = !state.streams.has(streamId) && !mustExist;
      if (isGone) return decide({ streams: [], more: false, taken: 0 });
      const decision = enforceRetention(state, streamId, { maxRuns });
      if (budget > 0) return { ...decision, answer: { ...decision.answer, taken: takenBy(state, decision) } };
      const { streams, more } = decision.answer;
      return decide({ streams: [], more: more || streams.length > 0, taken: 0 });
    },
  );
}

function takenBy(state: State, { events }: Decision<RetentionResult>): number {
  let taken = 0;
  for (const event of events) {
    if (event.type !== 'streamTrimmed') continue;
    const stream = state.stream(event.streamId);
    const from = stream.heldRuns;
    const to = from + countBelow(state, stream, event.firstOffset);
    for (let index = from; index < to; index += 1) if (coversOffsets(state, stream.runs.at(index))) taken += 1;
  }
  return taken;
}

/** Loads the oldest readable runs, one more than may go, and the newest one with offsets, which always stays. */
async function loadOldest(loader: Loader, streamId: number, maxRuns: number): Promise<void> {
  await loader.lockStreams([streamId]);
  const stream = loader.excerpt.state.streams.get(streamId);
  if (stream === undefined) return;
  const { session, tables } = loader;
  const [last] = await session.rows<{ position: number }>(coveringRuns(tables, 'position', 'ASC', maxRuns), [
    streamId,
    stream.firstOffset,
  ]);
  await loader.loadList(streamId, 0, last?.position ?? FAR);
  const newest = coveringRuns(tables, '*', 'DESC', 0);
  loader.excerpt.addRuns(await session.rows<RunRecord>(newest, [streamId, stream.firstOffset]));
  await loader.lockObjects(loader.excerpt.objectNumbers());
}

/** One of the runs that cover readable offsets, counted from one end. */
function coveringRuns({ runs }: Tables, columns: string, order: 'ASC' | 'DESC', skip: number): string {
  return `SELECT ${columns} FROM ${runs} WHERE stream_id = $1 AND end_offset > $2 AND end_offset > first_offset
    ORDER BY end_offset ${order}, position ${order} OFFSET ${skip} LIMIT 1`;
}
