/** Coordinators for tests in a real PostgreSQL: each in a schema of its own, on a clock that the test moves. */
import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { systemClock, type ManualClock } from '../../src/base/clock.ts';
import { systemRandom, type Random } from '../../src/base/random.ts';
import type { Coordinator, CoordinatorTimes } from '../../src/coordinator/coordinator.ts';
import { checkPostgresOptions, type PostgresOptions } from '../../src/coordinator/postgres/options.ts';
import { openPostgresCoordinator } from '../../src/coordinator/postgres/postgres-coordinator.ts';
import { tablesOf } from '../../src/coordinator/postgres/tables.ts';
import type { OpenedCoordinator } from '../../src/testing/coordinator/bench.ts';
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

/** A schema that one test after the other uses: emptying it is quicker than making it. Its time is what it is told. */
class TestSchema {
  readonly name: string;
  readonly #client: pg.Client;
  #told = NaN;
  #telling: Promise<void> = Promise.resolve();

  private constructor(name: string, client: pg.Client) {
    this.name = name;
    this.#client = client;
  }

  static async make(server: PostgresServer): Promise<TestSchema> {
    const name = newSchema();
    await (await openOn(server, { schema: name })).close();
    const client = await server.connect();
    // The server stops before this client does.
    client.on('error', () => undefined);
    await client.query(`
      CREATE TABLE ${name}.test_clock AS SELECT 0::bigint AS now;
      CREATE OR REPLACE FUNCTION ${name}.wall_clock() RETURNS bigint LANGUAGE sql VOLATILE
        AS $$ SELECT now FROM ${name}.test_clock $$`);
    return new TestSchema(name, client);
  }

  async empty(): Promise<void> {
    const { counters, clock, store, schema_versions, wall_clock, ...filled } = tablesOf(this.name);
    const emptying = Object.values(filled)
      .reverse()
      .map((table) => `DELETE FROM ${table};`);
    await this.#client.query(`${emptying.join('')} UPDATE ${counters} SET next = 1; UPDATE ${clock} SET now = 1`);
  }

  /** One after the other, as the driver wants it. */
  tell(now: number): Promise<void> {
    this.#telling = this.#telling.then(async () => {
      if (now !== this.#told) await this.#client.query(`UPDATE ${this.name}.test_clock SET now = ${now}`);
      this.#told = now;
    });
    return this.#telling;
  }

  /** The coordinator, with the time told before each of its methods. */
  wrap(coordinator: Coordinator, clock: ManualClock): Coordinator {
    return new Proxy(coordinator, {
      get: (target, name) => {
        const method = Reflect.get(target, name, target) as unknown;
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]): Promise<unknown> => {
          await this.tell(clock.now());
          return (await Reflect.apply(method, target, args)) as unknown;
        };
      },
    });
  }
}

const freeSchemas: WeakMap<PostgresServer, TestSchema[]> = new WeakMap();

/** Opens a fresh coordinator as the contract asks for it. */
export async function openForContract(
  server: PostgresServer,
  clock: ManualClock,
  times: CoordinatorTimes,
  random: Random = systemRandom,
): Promise<OpenedCoordinator> {
  const free = freeSchemas.get(server) ?? [];
  freeSchemas.set(server, free);
  const schema = free.pop() ?? (await TestSchema.make(server));
  const open = async (): Promise<OpenedCoordinator> => {
    const coordinator = await openOn(server, { schema: schema.name }, times, random);
    return {
      coordinator: schema.wrap(coordinator, clock),
      reopen: async () => {
        await coordinator.close();
        return open();
      },
      dispose: async () => {
        await coordinator.close();
        await schema.empty();
        free.push(schema);
      },
    };
  };
  return open();
}
