/** Coordinators for tests in a real PostgreSQL: each in a schema of its own, on a clock that the test moves. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { systemClock, type ManualClock } from '../../src/base/clock.ts';
import { systemRandom, type Random } from '../../src/base/random.ts';
import type { Coordinator, CoordinatorTimes } from '../../src/coordinator/coordinator.ts';
import { checkPostgresOptions, type PostgresOptions } from '../../src/coordinator/postgres/options.ts';
import { openPostgresCoordinator } from '../../src/coordinator/postgres/postgres-coordinator.ts';
import type { OpenedCoordinator } from '../contract/coordinator.contract.ts';
import type { PostgresServer } from './postgres-server.ts';

export function newSchema(): string {
  return `test_${randomBytes(6).toString('hex')}`;
}

export function openOn(
  server: PostgresServer,
  options: PostgresOptions,
  times?: Partial<CoordinatorTimes>,
  random: Random = systemRandom,
): Promise<Coordinator> {
  const settings = checkPostgresOptions({ ...server.options, ...options });
  return openPostgresCoordinator(settings, times, { clock: systemClock, random });
}

/** Makes the server's time in one schema that of a clock here, told before every call. */
export class RemoteClock {
  readonly #client: pg.Client;
  readonly #schema: string;
  readonly #clock: ManualClock;
  #told = NaN;
  #telling: Promise<void> = Promise.resolve();

  private constructor(client: pg.Client, schema: string, clock: ManualClock) {
    this.#client = client;
    this.#schema = schema;
    this.#clock = clock;
  }

  static async install(server: PostgresServer, schema: string, clock: ManualClock): Promise<RemoteClock> {
    const client = new pg.Client(server.options);
    await client.connect();
    await client.query(`
      CREATE TABLE ${schema}.test_clock AS SELECT ${clock.now()}::bigint AS now;
      CREATE OR REPLACE FUNCTION ${schema}.wall_clock() RETURNS bigint LANGUAGE sql VOLATILE
        AS $$ SELECT now FROM ${schema}.test_clock $$`);
    return new RemoteClock(client, schema, clock);
  }

  tell(): Promise<void> {
    this.#telling = this.#telling.then(() => this.#tell(this.#clock.now()));
    return this.#telling;
  }

  async #tell(now: number): Promise<void> {
    if (now === this.#told) return;
    await this.#client.query(`UPDATE ${this.#schema}.test_clock SET now = ${now}`);
    this.#told = now;
  }

  /** The coordinator, with the time told before each of its methods. */
  wrap(coordinator: Coordinator): Coordinator {
    return new Proxy(coordinator, {
      get: (target, name) => {
        const method = Reflect.get(target, name, target) as unknown;
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]): Promise<unknown> => {
          await this.tell();
          return (await Reflect.apply(method, target, args)) as unknown;
        };
      },
    });
  }

  async remove(): Promise<void> {
    await this.#client.query(`DROP SCHEMA ${this.#schema} CASCADE`);
    await this.#client.end();
  }
}

/** Opens a fresh coordinator as the contract asks for it. */
export async function openForContract(
  server: PostgresServer,
  clock: ManualClock,
  times: CoordinatorTimes,
  random: Random = systemRandom,
): Promise<OpenedCoordinator> {
  const schema = newSchema();
  const first = await openOn(server, { schema }, times, random);
  const remote = await RemoteClock.install(server, schema, clock);
  const opened = (coordinator: Coordinator): OpenedCoordinator => ({
    coordinator: remote.wrap(coordinator),
    reopen: async () => {
      await coordinator.close();
      return opened(await openOn(server, { schema }, times, random));
    },
    dispose: async () => {
      await coordinator.close();
      await remote.remove();
    },
  });
  return opened(first);
}
