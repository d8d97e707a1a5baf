import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { coordinatorContract, type OpenedCoordinator } from '../../contract/coordinator.contract.ts';
import { until } from '../../support/child-processes.ts';
import { openForContract } from '../../support/postgres-coordinators.ts';
import { findPostgres, PostgresServer } from '../../support/postgres-server.ts';

/** A step of a history takes a hundred times longer here than in memory: how many there are follows the machine. */
fc.installGlobalPlugin(fc.interruptAfterTimeLimit(6_000));

const postgres = await findPostgres();

if ('missing' in postgres) {
  test('the contract against PostgreSQL', { skip: postgres.missing });
} else {
  describe('on a real server', () => {
    let server: PostgresServer;
    let open = 0;
    const counted = (opened: OpenedCoordinator): OpenedCoordinator => ({
      coordinator: opened.coordinator,
      reopen: async () => counted(await opened.reopen()),
      dispose: async () => {
        await opened.dispose();
        open -= 1;
      },
    });
    before(async () => {
      server = await PostgresServer.start(postgres.bin);
    });
    after(async () => {
      // A history that was interrupted still goes on to its end.
      await until('the end of the last history', async () => open === 0);
      await server.stop();
    });
    coordinatorContract('PostgreSQL', async (clock, times) => {
      open += 1;
      return counted(await openForContract(server, clock, times));
    });
  });
}
