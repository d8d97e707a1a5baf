/** Bugs of the coordinator in PostgreSQL that only its server shows. */
import { type PlantedBug, test } from '../bug.ts';

const LOADER = 'src/coordinator/postgres/loader.ts';
const CONCURRENCY = 'coordinator/postgres/concurrency';

export const POSTGRES_BUGS: readonly PlantedBug[] = [
  {
    name: 'row of a stream read without its lock',
    file: LOADER,
    source: `for (const record of await this.#streams(ids, 'FOR UPDATE')) {`,
    replacement: `for (const record of await this.#streams(ids, '')) {`,
    breaks: 'of processes that commit to a stream at once, each gets offsets of its own',
    caughtBy: test(
      CONCURRENCY,
      'all commit to the same streams, named in any order, and every record finds its offsets',
    ),
    needs: 'postgres',
  },
];
