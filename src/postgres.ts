/**
 * `millrace/postgres`: the coordinator in a PostgreSQL database, for stores that several processes write. Needs the
 * optional peer dependency `pg`, which nothing else of millrace loads.
 */
import type { CoordinatorComponent } from './coordinator/component.ts';
import type { PostgresOptions } from './coordinator/postgres/options.ts';
import { describePostgres } from './coordinator/postgres/postgres-coordinator.ts';

export type { CoordinatorComponent } from './coordinator/component.ts';
export type { PostgresOptions } from './coordinator/postgres/options.ts';

/**
 * Describes a coordinator in PostgreSQL 13 or later, for `open({ coordinator: postgres({ connectionString }) })`.
 * Throws `ERR_MILLRACE_INVALID_ARGUMENT` for options that are no connection. Nothing is sent before the store opens.
 */
export function postgres(options: PostgresOptions = {}): CoordinatorComponent {
  return describePostgres(options);
}
