import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { coordinatorContract } from '../../../src/testing/coordinator-contract.ts';
import { openForContract } from '../../support/postgres-coordinators.ts';
import { findPostgres, PostgresServer } from '../../support/postgres-server.ts';

/** A step of a history takes a hundred times longer here than in memory. */
const HISTORIES = 6;

/** Lets the rest of a property's runs pass unseen; whoever has failed once goes on, so as to find a smaller failure. */
const firstRuns: fc.UniversalPlugin = () => {
  let begun = 0;
  let hasFailed = false;
  return {
    decorateRun: (run) => async (value) => {
      begun += 1;
      if (begun > HISTORIES && !hasFailed) return null;
      const failure = await run(value);
      hasFailed ||= failure !== null;
      return failure;
    },
  };
};
fc.installGlobalPlugin(firstRuns);

const postgres = await findPostgres();

if ('missing' in postgres) {
  test('the contract against PostgreSQL', { skip: postgres.missing });
} else {
  describe('on a real server', () => {
    let server: PostgresServer;
    before(async () => {
      server = await PostgresServer.start(postgres.bin);
    });
    after(() => server.stop());
    coordinatorContract('PostgreSQL', (clock, times) => openForContract(server, clock, times));
  });
}
