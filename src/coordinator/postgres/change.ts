/** One change from the locks to the last row: load, judge, apply, write. */
import type { Command } from '../commands/decision.ts';
import { advanceTime, apply } from '../state/apply.ts';
import type { Database, Outcome } from './database.ts';
import { Loader } from './loader.ts';
import { CLOCK_ROWS } from './migrations.ts';
import type { Session } from './session.ts';
import { changesBetween, snapshotOf } from './snapshot.ts';
import type { Tables } from './tables.ts';
import { checkLocks, writeChanges } from './write-changes.ts';

/** Locks and loads what the command will look at: streams, then objects, then jobs, each in the order of their keys. */
export type Load = (loader: Loader) => Promise<void>;

export function change<Answer>(database: Database, load: Load, judge: Command<Answer>): Promise<Answer> {
  return database.transaction((session) => carryOut(session, database.tables, load, judge));
}

async function carryOut<Answer>(
  session: Session,
  tables: Tables,
  load: Load,
  judge: Command<Answer>,
): Promise<Outcome<Answer>> {
  const loader = new Loader(session, tables);
  await load(loader);
  const { excerpt } = loader;
  excerpt.link();
  // Time is read behind the locks: whoever waited for somebody else's change is not earlier than that change.
  advanceTime(excerpt.state, await readTime(session, tables));
  const before = snapshotOf(excerpt);
  const { events, answer } = judge(excerpt.state);
  if (events.length === 0) return { answer, wrote: loader.wrote };
  for (const event of events) apply(excerpt.state, event);
  excerpt.place();
  const changes = changesBetween(before, snapshotOf(excerpt));
  checkLocks(excerpt, changes);
  await writeChanges(session, tables, changes);
  await keepTime(session, tables, excerpt.state.now);
  return { answer, wrote: true };
}

/** The coordinator's time: the server's, unless that has gone back. */
export async function readTime(session: Session, tables: Tables): Promise<number> {
  const [row] = await session.rows<{ now: number }>(`SELECT ${timeOf(tables)} AS now`);
  return row?.now ?? 1;
}

/** The same as an SQL expression. */
export function timeOf({ wall_clock, clock }: Tables): string {
  return `greatest(${wall_clock}(), (SELECT max(now) FROM ${clock}))`;
}

/**
 * Whatever sees this change will not be earlier than it. Each backend has its row, as the last thing it locks: waiting
 * for one row would queue all commits of all processes behind each other's disk writes.
 */
async function keepTime(session: Session, { clock }: Tables, now: number): Promise<void> {
  const text = `UPDATE ${clock} SET now = greatest(now, $1) WHERE slot = pg_backend_pid() % ${CLOCK_ROWS}`;
  await session.change(1, text, [now]);
}
