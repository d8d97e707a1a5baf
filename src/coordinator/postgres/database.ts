/**
 * Runs reads and transactions, and decides what a failure means. A transaction runs again only when it certainly left
 * nothing behind (a collision with another one), or when asking again is the way to learn what became of it: the reply
 * to its COMMIT was lost, and every operation of the coordinator may be repeated.
 */
import type { Pool, PoolClient } from 'pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { MillraceError } from '../../errors/millrace-error.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { failureKind, postgresError, unresolvedError, type FailureKind, type Place } from './postgres-errors.ts';
import { checkVersion, versionQuery, type VersionRow } from './schema-version.ts';
import { Session } from './session.ts';
import type { Tables } from './tables.ts';

export interface DatabaseParts {
  readonly pool: Pool;
  readonly place: Place;
  readonly tables: Tables;
  readonly schema: string;
  readonly resolveTimeout: number;
  readonly clock: Clock;
  readonly random: Random;
}

/** What a transaction leaves: its answer, and whether it wrote anything. */
export interface Outcome<Answer> {
  readonly answer: Answer;
  readonly wrote: boolean;
}

interface Failure {
  readonly error: unknown;
  readonly kind: FailureKind;
  readonly inCommit: boolean;
}

const COLLISIONS_MAX = 10;
const PAUSE_MIN = 10;
const PAUSE_MAX = 1_000;

export class Database {
  readonly #parts: DatabaseParts;
  readonly #running: Set<Promise<unknown>> = new Set();
  #closed: Promise<void> | undefined;

  constructor(parts: DatabaseParts) {
    this.#parts = parts;
  }

  get tables(): Tables {
    return this.#parts.tables;
  }

  /** Runs statements that each see one moment of their own. `silence`: see `Session`. */
  read<Answer>(work: (session: Session) => Promise<Answer>, silence?: number): Promise<Answer> {
    return this.#track(async () => {
      const client = await this.#connect();
      try {
        const answer = await work(new Session(client, silence));
        release(client);
        return answer;
      } catch (error) {
        release(client, failureKind(error) === 'lost');
        throw postgresError(error, this.#parts.place);
      }
    });
  }

  /** Runs statements that all see the same moment. */
  readMoment<Answer>(work: (session: Session) => Promise<Answer>, silence?: number): Promise<Answer> {
    return this.read(async (session) => {
      await session.script('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      try {
        return await work(session);
      } finally {
        await session.script('ROLLBACK');
      }
    }, silence);
  }

  /** Runs `work` as one transaction, possibly several times. */
  transaction<Answer>(work: (session: Session) => Promise<Outcome<Answer>>): Promise<Answer> {
    return this.#track(() => this.#persist(work));
  }

  /** Waits for what is under way, then ends the connections. */
  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    await Promise.allSettled([...this.#running]);
    await this.#parts.pool.end();
  }

  async #track<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (this.#closed !== undefined) throw new MillraceError('ERR_MILLRACE_CLOSED', 'the coordinator was closed');
    const running = work();
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async #persist<Answer>(work: (session: Session) => Promise<Outcome<Answer>>): Promise<Answer> {
    const { clock, place, resolveTimeout } = this.#parts;
    let doubtSince: number | undefined;
    let collisions = 0;
    for (let attempt = 0; ; attempt += 1) {
      const result = await this.#attempt(work);
      if (!('kind' in result)) return result.answer;
      const { error, kind, inCommit } = result;
      if (kind === 'lost' && inCommit) doubtSince ??= clock.monotonic();
      if (kind === 'collision') collisions += 1;
      const isOpen = kind === 'lost' && doubtSince !== undefined;
      if (isOpen && clock.monotonic() - (doubtSince ?? 0) > resolveTimeout) {
        throw unresolvedError(error, place, resolveTimeout);
      }
      if (!isOpen && (kind !== 'collision' || collisions > COLLISIONS_MAX)) throw postgresError(error, place);
      await sleep(this.#pause(attempt));
    }
  }

  /** Longer from time to time, and different for everybody who collided. */
  #pause(attempt: number): number {
    const longest = Math.min(PAUSE_MAX, PAUSE_MIN * 2 ** Math.min(attempt, 16));
    return 1 + this.#parts.random.below(longest);
  }

  async #attempt<Answer>(work: (session: Session) => Promise<Outcome<Answer>>): Promise<Outcome<Answer> | Failure> {
    let client: PoolClient | undefined;
    let inCommit = false;
    try {
      client = await this.#parts.pool.connect();
      client.on('error', ignore);
      const session = new Session(client);
      await this.#begin(session);
      const outcome = await work(session);
      if (outcome.wrote) {
        inCommit = true;
        await session.commit();
      } else {
        await session.script('ROLLBACK');
      }
      release(client);
      return outcome;
    } catch (error) {
      const kind = failureKind(error);
      if (client !== undefined) await rollBack(client, kind);
      return { error, kind, inCommit };
    }
  }

  /**
   * Whatever the server's defaults are, a commit is on disk when it is answered. The version is read first: its lock
   * holds back a migration until this transaction is over.
   */
  async #begin(session: Session): Promise<void> {
    const { tables, schema } = this.#parts;
    const [row] = await session.script<VersionRow>(
      `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL synchronous_commit = on; ${versionQuery(tables)}`,
    );
    checkVersion(row, schema);
  }

  async #connect(): Promise<PoolClient> {
    try {
      const client = await this.#parts.pool.connect();
      client.on('error', ignore);
      return client;
    } catch (error) {
      throw postgresError(error, this.#parts.place);
    }
  }
}

/** A connection that breaks while it is used rejects the query; the event says nothing more. */
function ignore(): void {
  // Without a listener the event would end the process.
}

function release(client: PoolClient, broken = false): void {
  client.removeListener('error', ignore);
  client.release(broken);
}

/** A connection that cannot even roll back is not given back to the pool. */
async function rollBack(client: PoolClient, kind: FailureKind): Promise<void> {
  let broken = kind === 'lost';
  if (!broken) {
    try {
      await client.query('ROLLBACK');
    } catch {
      broken = true;
    }
  }
  release(client, broken);
}
