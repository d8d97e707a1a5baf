/** One connection while one operation has it. */
import type { ClientBase, QueryConfig, QueryResult } from 'pg';
import { assert } from '../../base/assert.ts';

/** For statements that take as long as there is something to do: a day is a hang. */
export const LONG_SILENCE: number = 24 * 3_600_000;

/** The driver takes a time limit per statement, which its types do not say. */
interface TimedQuery extends QueryConfig {
  readonly query_timeout?: number;
}

export class Session {
  readonly #client: ClientBase;
  readonly #silence: Pick<TimedQuery, 'query_timeout'>;

  /** `silence`: milliseconds the server may take to answer, in place of the connection's own. */
  constructor(client: ClientBase, silence?: number) {
    this.#client = client;
    this.#silence = silence === undefined ? {} : { query_timeout: silence };
  }

  /** The rows of one statement. */
  async rows<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const { rows } = await this.#send<Row>({ text, values: [...values] });
    return rows;
  }

  /** Runs one statement that changes exactly `count` rows. */
  async change(count: number, text: string, values: readonly unknown[] = []): Promise<void> {
    const { rowCount } = await this.#send({ text, values: [...values] });
    assert(rowCount === count, 'a statement changes the rows that were locked for it');
  }

  /** Runs statements without parameters, in one round trip. Returns the rows of the last one. */
  async script<Row extends object>(text: string): Promise<Row[]> {
    const results: unknown = await this.#send<Row>({ text });
    const last = (Array.isArray(results) ? results.at(-1) : results) as QueryResult<Row> | undefined;
    return last?.rows ?? [];
  }

  /** A commit of a failed transaction is answered like a success, by another word. */
  async commit(): Promise<void> {
    const { command } = await this.#send({ text: 'COMMIT' });
    assert(command === 'COMMIT', 'a transaction that is committed has not failed');
  }

  #send<Row extends object>(query: TimedQuery): Promise<QueryResult<Row>> {
    return this.#client.query<Row>({ ...query, ...this.#silence });
  }
}
