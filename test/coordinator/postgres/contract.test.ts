import { after, before, describe, test } from 'node:test';
import { findPostgres, PostgresServer } from '../../support/postgres-server.ts';
import { openForContract } from '../../support/postgres-coordinators.ts';
import { coordinatorContract } from '../../contract/coordinator.contract.ts';

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
