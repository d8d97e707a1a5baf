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
  {
    name: 'claim that waits for a locked object',
    file: LOADER,
    source: `    const lock = skipLocked ? 'FOR UPDATE SKIP LOCKED' : 'FOR UPDATE';
    const text = \`SELECT * FROM \${objects}`,
    replacement: `    const lock = skipLocked ? 'FOR UPDATE ' : 'FOR UPDATE';
    const text = \`SELECT * FROM \${objects}`,
    breaks: 'who looks for work waits for nobody',
    caughtBy: test(CONCURRENCY, 'an object that another transaction is changing is not waited for by a claim'),
    needs: 'postgres',
  },
];
